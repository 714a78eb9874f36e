import Foundation
import TestSupport

/// A small day's work: the same steps on the mount and on the plain disk, and a comparison of every byte.
struct Workload {
    /// The folder in the mount, and its shadow.
    let inside: String
    let outside: String
    var numbers: SeededRandom

    mutating func random(_ bound: Int) -> Int {
        Int.random(in: 0..<bound, using: &numbers)
    }

    /// The same script in both folders; both must agree on its outcome.
    private func both(_ script: String) throws {
        for folder in [inside, outside] {
            try shell(script, in: folder, within: 120).succeeded()
        }
    }

    /// A C program of a few files with a Makefile, a repository, a database, texts.
    func begin() throws {
        try both(
            """
            mkdir project texts; cd project
            for i in 1 2 3 4 5; do
                printf 'int f%s(int x) { return x * %s + 1; }\\n' $i $i > f$i.c
            done
            printf '#include <stdio.h>\\nint f1(int), f2(int), f3(int), f4(int), f5(int);\\n' > main.c
            printf 'int main(void) { printf("%%d\\\\n", f1(f2(f3(f4(f5(1)))))); return 0; }\\n' >> main.c
            printf 'program: main.o f1.o f2.o f3.o f4.o f5.o\\n\\t$(CC) -o $@ $^\\n' > Makefile
            printf '*.o\\nprogram\\n' > .gitignore
            git init -q -b main .; git add -A; git commit -q -m begin
            sqlite3 ../wal.db 'PRAGMA journal_mode=wal; CREATE TABLE t(i INTEGER PRIMARY KEY, x TEXT);' > ../mode
            sqlite3 ../rollback.db 'CREATE TABLE t(i INTEGER PRIMARY KEY, x TEXT);'
            """)
    }

    /// One step of ordinary work, chosen at random.
    mutating func step(_ number: Int) throws {
        let chosen = random(6)
        let size = random(60_000) + 1
        let which = random(5) + 1
        switch chosen {
        case 0:
            try both(
                """
                cd project; printf 'int f\(which)(int x) { return x + \(number); }\\n' > f\(which).c
                make -s CFLAGS=-O0; ./program > result; make -s; git diff --stat > /dev/null
                """)
        case 1:
            try both(
                """
                cd project; echo \(number) >> log; git add -A
                export GIT_AUTHOR_DATE='2001-01-01T00:00:00Z' GIT_COMMITTER_DATE='2001-01-01T00:00:00Z'
                git commit -q -m 'commit \(number)'; git status --porcelain > /dev/null
                """)
        case 2:
            for database in ["wal", "rollback"] {
                try both(
                    """
                    sqlite3 \(database).db "BEGIN;
                        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 50)
                        INSERT INTO t(x) SELECT 'row ' || i || ' of \(number)' FROM n;
                        UPDATE t SET x = x || '.' WHERE i % 7 = \(which);
                        DELETE FROM t WHERE i % 11 = \(which); COMMIT;"
                    """)
            }
        case 3:
            // The atomic save.
            try both(
                """
                cd texts; seq \(number) $((\(number) + \(size) / 7)) > text\(which).new
                sync text\(which).new; mv text\(which).new text\(which)
                """)
        case 4:
            // The save in place, the append, the truncation.
            try both(
                """
                cd texts; seq \(size) >> grown
                printf 'patch \(number)' | dd of=grown bs=1 seek=\(size / 3) conv=notrunc \
                2> /dev/null; truncate -s \(size) short; seq \(which) >> short; cp grown copy\(which)
                """)
        default:
            try both(
                """
                mkdir -p tree/\(which); cp project/*.c tree/\(which)/
                mv tree/\(which) tree/moved; rm -rf old; mv tree old
                ln -sf ../project/main.c old/link; ln -f project/main.c old/hard
                """)
        }
    }

    /// Every byte of every file, and the integrity checks of the databases and the repository.
    func compare() throws {
        try shell(
            """
            diff -r --no-dereference --exclude=.git --exclude='*.db*' --exclude=program --exclude='*.o' \
                '\(inside)' '\(outside)'
            cmp '\(inside)/project/result' '\(outside)/project/result' 2> /dev/null \
                || test ! -e '\(inside)/project/result'
            """, within: 120
        ).succeeded()
        for database in ["wal", "rollback"] {
            let question = "PRAGMA integrity_check; SELECT * FROM t;"
            let answers = try [inside, outside].map {
                try run("sqlite3", ["\($0)/\(database).db", question], within: 120).succeeded().output
            }
            guard answers[0] == answers[1], answers[0].starts(with: Array("ok\n".utf8)) else {
                throw HarnessError("\(database).db differs: \(String(decoding: answers[0].prefix(500), as: UTF8.self))")
            }
        }
        try shell("git fsck --full --strict --no-dangling; git log --format=%s%T > ../log", in: inside + "/project")
            .succeeded()
        try shell("git log --format=%s%T > ../log", in: outside + "/project").succeeded()
        try shell("cmp '\(inside)/log' '\(outside)/log'").succeeded()
    }
}
