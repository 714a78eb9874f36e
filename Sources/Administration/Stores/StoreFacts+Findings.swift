public import Failure
import Format

extension StoreKind {
    /// Why a vault is neither made nor mounted in a store of this kind.
    public func refusal(for finding: StoreFinding) -> Failure {
        .riskyStore(store: engine, reason: finding.sentence, isFinal: finding.isFinal)
    }
}

extension StoreFacts {
    /// What follows for a vault, the worst first. A feature that is unknown is no finding.
    public var findings: [StoreFinding] {
        let found = tried + known
        return StoreFinding.Problem.allCases.flatMap { problem in found.filter { $0.problem == problem } }
            .enumerated()
            .sorted { ($0.element.severity, $0.offset) < ($1.element.severity, $1.offset) }
            .map(\.element)
    }

    /// The first reason for which a vault must not be made or mounted here.
    ///
    /// - Parameter accepted: whether the user accepts every loss that can be accepted.
    public func refusal(accepted: Bool = false) -> StoreFinding? {
        findings.first { $0.severity == .losesData && ($0.isFinal || !accepted) }
    }

    /// Throws `riskyStore` for the first such reason.
    public func refuse(unless accepted: Bool) throws(Failure) {
        guard let finding = refusal(accepted: accepted) else { return }
        throw kind.refusal(for: finding)
    }

    /// What the user is warned of at a mount: broken promises, and accepted losses.
    public var warnings: [StoreFinding] { findings.filter { $0.severity != .note } }

    private func missing(_ feature: StoreFeature, _ problem: StoreFinding.Problem) -> [StoreFinding] {
        self[feature].isNo ? [StoreFinding(problem, self[feature].errno)] : []
    }

    private func measured(
        _ feature: StoreFeature, _ problem: StoreFinding.Problem, if isFinding: (Int64) -> Bool
    ) -> [StoreFinding] {
        guard let number = self[feature].number, isFinding(number) else { return [] }
        return [StoreFinding(problem, number: number)]
    }

    private var tried: [StoreFinding] {
        let leastName = Int64(KeybagSettings.nameMaximumRange.lowerBound)
        var found =
            missing(.exclusiveCreate, .noExclusiveCreate) + missing(.renameOver, .noRenameOver)
            + missing(.randomWrites, .noRandomWrites) + missing(.syncFile, .noSyncOfFiles)
            + missing(.syncFolder, .noSyncOfFolders) + missing(.flock, .noFlock)
            + missing(.caseSensitive, .caseInsensitive) + measured(.nameBytes, .shortNames) { $0 < leastName }
        if self[.inodeOfOpenFile].isNo || self[.inodeAfterRename].isNo { found.append(StoreFinding(.changingInodes)) }
        found +=
            missing(.openFileAfterReplacement, .mixedFiles) + missing(.symbolicLinkRenameOver, .staleLinks)
            + missing(.listing, .noListing) + missing(.renameOpenFile, .noRenameOfOpenFiles)
        found +=
            missing(.userAttributes, .noAttributes) + missing(.hardLinks, .noHardLinks)
            + missing(.inodeOfHardLinks, .unlikeHardLinks) + missing(.symbolicLinks, .noSymbolicLinks)
            + missing(.setTimes, .noSetTimes) + missing(.readAfterUnlink, .noReadAfterUnlink)
        found += measured(.attributeBytes, .smallAttributes) { $0 < Self.attributeLimit }
        found += measured(.timeGrain, .coarseTimes) { $0 > Self.stampGrain }
        if self[.holes].isNo || self[.punchHole].isNo { found.append(StoreFinding(.noHoles, self[.punchHole].errno)) }
        if isReadOnly { found.append(StoreFinding(.readOnly)) }
        return found
    }

    private var known: [StoreFinding] {
        var found = missing(.sharedLocks, .noSharedLocks) + missing(.syncReachesStore, .syncStaysHere)
        if self[.lasting].isNo {
            found.append(StoreFinding(.volatile))
        } else if self[.lastingInodes].isNo || self[.inodeAfterReopening].isNo {
            found.append(StoreFinding(.passingInodes))
        }
        if kind.isBelowOverlay { found.append(StoreFinding(.belowOverlay)) }
        if !kind.isLocal, self[.sharedLocks].answer == .unknown { found.append(StoreFinding(.unknownKind)) }
        return found + measured(.cacheSeconds, .cached) { $0 > 0 }
    }

    /// Linux's limit of a value, in bytes.
    private static let attributeLimit: Int64 = 65_536
    /// A stamp is a whole, even second: in nanoseconds.
    private static let stampGrain: Int64 = 2_000_000_000
}
