"""The state of a vault, over everything that can be known of it."""

import itertools
import unittest

from latchkey_desktop.model.paths import PathName
from latchkey_desktop.model.state import Contact, VaultState, state_of
from latchkey_desktop.model.status import Freshness, Hold, Status
from latchkey_desktop.model.vault import Daemon, NamedVault, Vault, vaults_of
from latchkey_desktop.model.view import VaultView, seconds_left, view_of

POINT, FOLDER = PathName(b"/home/ada/work"), PathName(b"/home/ada/Vaults/work")
EVERY = frozenset({"complete", "complete-unless-open", "complete-until-first-user-authentication", "none"})
HOLD = Hold(7, "rsync", "a backup runs", 12)


def status(state: str = "unlocked", **more: object) -> Status:
    return Status(state=state, mount_point=POINT, vault=FOLDER, **more)  # type: ignore[arg-type]


def view(found: Status | None, contact: Contact = Contact.ANSWERS, now: float = 100.0, listed: str = "",
         is_in_table: bool = True) -> VaultView:
    return view_of(Vault("work", FOLDER, POINT, contact, found, is_in_table, listed), now)


class StateTests(unittest.TestCase):
    def test_each_state(self) -> None:
        cases = [
            (Contact.ANSWERS, status("unlocked"), VaultState.UNLOCKED),
            (Contact.ANSWERS, status("locked"), VaultState.LOCKED),
            (Contact.ANSWERS, status("before-first-unlock"), VaultState.BEFORE_FIRST_UNLOCK),
            (Contact.ANSWERS, status("locking", deadline=105.0), VaultState.LOCKING),
            # The hold of 12 seconds is in the deadline.
            (Contact.ANSWERS, status("locking", deadline=117.0, holds=(HOLD,)), VaultState.LOCKING),
            (Contact.ANSWERS, status("locking", deadline=105.0, holds=(HOLD,)), VaultState.HELD),
            (Contact.ANSWERS, status("locking", deadline=100.0), VaultState.EVICTING),
            (Contact.ANSWERS, status("locking", deadline=99.0, phase="wiping"), VaultState.EVICTING),
            (Contact.ANSWERS, status("locking", deadline=90.0, phase="wiping"), VaultState.CANNOT_LOCK),
            (Contact.ANSWERS, status("locking", deadline=99.0, holds=(HOLD,)), VaultState.EVICTING),
            (Contact.ANSWERS, status("locking", deadline=99.0, phase="wiping", holds=(HOLD,)), VaultState.EVICTING),
            (Contact.ANSWERS, status("locking", holds=(HOLD,)), VaultState.HELD),
            (Contact.ANSWERS, status("unlocked", is_taken_over=True), VaultState.TAKEN_OVER),
            (Contact.ANSWERS, status("locked", is_ending=True), VaultState.ENDING),
            (Contact.ANSWERS, status("a state of the future"), VaultState.UNKNOWN),
            (Contact.SILENT, status("unlocked"), VaultState.SILENT),
            (Contact.ASKED, None, VaultState.UNKNOWN),
        ]
        for contact, found, expected in cases:
            self.assertEqual(state_of(contact, found, True, "", 100.0), expected, (contact, found))

    def test_without_a_daemon(self) -> None:
        self.assertEqual(state_of(Contact.NONE, None, True, "not-mounted", 0), VaultState.DEAD)
        self.assertEqual(state_of(Contact.NONE, None, False, "", 0), VaultState.NOT_MOUNTED)
        for listed in ("folder-missing", "no-access", "keybag-missing", "erased", "not-a-vault", "damaged"):
            self.assertEqual(state_of(Contact.NONE, None, False, listed, 0).value, listed)
        # `list` is older than the table of mounts.
        self.assertEqual(state_of(Contact.NONE, None, False, "unlocked", 0), VaultState.NOT_MOUNTED)

    def test_every_combination_has_words(self) -> None:
        """No input makes a view without words, or one that offers to unlock what is open."""
        states = ("unlocked", "locked", "before-first-unlock", "locking", "?")
        for contact, state, deadline, phase, holds, ending, over in itertools.product(
                Contact, states, (None, 50.0, 100.0, 150.0), ("", "flushing", "invalidating", "wiping", "?"),
                ((), (HOLD,)), (False, True), (False, True)):
            found = None if contact is Contact.NONE else status(
                state, deadline=deadline, phase=phase, holds=holds, is_ending=ending, is_taken_over=over)
            seen = view(found, contact)
            self.assertTrue(seen.headline and seen.icon and seen.spoken)
            self.assertEqual([row.item.letter for row in seen.rows], list("ABCD"))
            if seen.state is VaultState.UNLOCKED:
                self.assertNotIn("unlock", seen.can)
            if seen.state in (VaultState.DEAD, VaultState.SILENT, VaultState.NOT_MOUNTED):
                self.assertNotIn("unlock", seen.can)
                self.assertNotIn("readable", [row.reach.value for row in seen.rows])
            self.assertNotIn("{", seen.headline + seen.detail)

    def test_classes(self) -> None:
        def reaches(found: Status) -> list[str]:
            return [row.reach.value for row in view(found).rows]

        some = frozenset({"complete-until-first-user-authentication", "none"})
        self.assertEqual(reaches(status("unlocked", class_keys=EVERY)), ["readable"] * 4)
        self.assertEqual(reaches(status("locked", class_keys=some)), ["closed", "create", "readable", "readable"])
        self.assertEqual(reaches(status("locked", class_keys=some, is_read_only=True)),
                         ["closed", "closed", "readable", "readable"])
        self.assertEqual(reaches(status("unlocked", class_keys=EVERY, is_taken_over=True)), ["closed"] * 4)

    def test_seconds(self) -> None:
        self.assertEqual([seconds_left(100.0, now) for now in (89.9, 90.0, 99.1, 100.0, 200.0)], [11, 10, 1, 0, 0])
        self.assertEqual(seconds_left(1e300, 0.0), 86400)
        self.assertEqual(view(status("locking", deadline=101.0)).headline, "Locks in 1 second")
        self.assertEqual(view(status("locking", deadline=109.5)).headline, "Locks in 10 seconds")

    def test_who_holds_it(self) -> None:
        seen = view(status("locking", deadline=111.5, holds=(HOLD, Hold(0, "a\nb", "", None))))
        self.assertEqual(seen.headline, "Locking, held by rsync, a\\nb")
        self.assertEqual(seen.detail.split("\n"), [
            "The keys go in 12 seconds at the latest. To lock now does not wait.",
            "rsync (process 7) holds a lock back, for 12 seconds at most: a backup runs",
            "a\\nb holds a lock back"])
        self.assertTrue(seen.warns)
        self.assertLessEqual({"lock-now", "unlock"}, seen.can)
        # Until then the grace period counts.
        self.assertEqual(view(status("locking", deadline=117.0, holds=(HOLD,))).headline, "Locks in 5 seconds")
        many = view(status("unlocked", holds=(HOLD,) * 50))
        self.assertEqual(many.headline, "Unlocked")
        self.assertEqual(many.detail.split("\n")[-1], "45 more programs")
        self.assertFalse(many.warns)

    def test_warnings(self) -> None:
        self.assertFalse(view(status(freshness=Freshness())).warns)
        for freshness in (Freshness(older=1), Freshness(moment=3), Freshness(has_lost_journal=True),
                          Freshness(trouble="disk full")):
            self.assertTrue(view(status(freshness=freshness)).warns)


class ListTests(unittest.TestCase):
    NAMED = [NamedVault("work", FOLDER, POINT), NamedVault("home", PathName(b"/v/home"), PathName(b"/m/home"))]

    def test_named_first_then_others(self) -> None:
        other = Status(state="locked", mount_point=PathName(b"/m/other"), vault=PathName(b"/v/other"))
        found = vaults_of(self.NAMED, [(PathName(b"/m/z"), PathName(b"/v/z")), (POINT, FOLDER)],
                          [Daemon(Contact.ANSWERS, other), Daemon(Contact.ANSWERS, status())], {"home": "erased"})
        self.assertEqual([vault.title for vault in found], ["work", "home", "other", "z"])
        self.assertEqual([view_of(vault, 0).state.value for vault in found], ["unlocked", "erased", "locked", "dead"])

    def test_a_named_vault_elsewhere(self) -> None:
        moved = Status(state="locked", mount_point=PathName(b"/elsewhere"), vault=FOLDER)
        found = vaults_of(self.NAMED, [(PathName(b"/elsewhere"), FOLDER)], [Daemon(Contact.ANSWERS, moved)], {})
        self.assertEqual([(vault.title, vault.mount_point.raw) for vault in found],
                         [("work", b"/elsewhere"), ("home", b"/m/home")])
        self.assertEqual(view_of(found[0], 0).state, VaultState.LOCKED)

    def test_a_mount_that_was_just_made(self) -> None:
        found = vaults_of(self.NAMED, [(POINT, FOLDER)], [], {}, frozenset({POINT}))
        self.assertEqual(view_of(found[0], 0).state, VaultState.UNKNOWN)
