import Testing

/// Folders that are moved into a vault and back.
@Suite struct MigrationTests {}
