import Commands
import Foundation
import TestSupport
import Testing

@testable import Exec
@testable import Transfers

@Suite struct CheckedProgramTests {
    private func failure(_ path: String, user: UInt32? = nil) -> CommandFailure? {
        do throws(CommandFailure) {
            _ = try CheckedProgram(path, user: user)
            return nil
        } catch { return error }
    }

    @Test func `a regular file that only its owner may write is accepted`() async throws {
        try await withHarness { harness in
            for mode in [0o755, 0o700, 0o555, 0o644] as [mode_t] {
                let path = try harness.executable("a\(mode)", "", mode: mode)
                #expect(failure(path) == nil)
            }
            #expect(failure("/usr/bin/true") == nil)
        }
    }

    @Test func `other files are refused, and the reason says how to mend it`() async throws {
        try await withHarness { harness in
            for mode in [0o775, 0o757, 0o777] as [mode_t] {
                let failure = failure(try harness.executable("a", "", mode: mode))
                #expect(failure?.fault == .final && failure?.reason.contains("chmod go-w") == true)
            }
            let link = "\(harness.directory.path)/link"
            symlink("/usr/bin/true", link)
            let fifo = "\(harness.directory.path)/fifo"
            mkfifo(fifo, 0o700)
            let cases = [
                (link, "symbolic link"), (harness.directory.path, "directory"), (fifo, "not a regular file"),
                ("\(link)/x", "not a directory"), ("/no/such", "no such file"), ("/dev/null", "not a regular file"),
            ]
            for (path, says) in cases {
                let failure = failure(path)
                #expect(failure?.fault == .final && failure?.reason.contains(says) == true, "\(path)")
            }
        }
    }

    @Test(.enabled(if: isRoot)) func `a file or a directory of another user is refused`() async throws {
        try await withHarness { harness in
            let path = try harness.executable("a", "")
            chown(path, 65_534, 65_534)
            #expect(failure(path)?.reason.contains("chown root") == true)
            #expect(failure(path, user: 65_534) == nil)
            // As doctor asks for the user of the workers.
            #expect(throws: Never.self) { _ = try CheckedProgram(path, worker: 65_534) }
            chown(path, 0, 0)
            chown(harness.directory.path, 65_534, 65_534)
            #expect(failure(path)?.reason.contains("another user could replace it") == true)
        }
    }

    @Test func `a directory that all may write is refused without its sticky bit`() async throws {
        try await withHarness { harness in
            let path = try harness.executable("a", "")
            chmod(harness.directory.path, 0o777)
            #expect(failure(path)?.reason.contains("another user could replace it") == true)
            chmod(harness.directory.path, 0o1777)
            #expect(failure(path) == nil)
        }
    }

    @Test func `a directory of a payload is opened in that of its program, without symbolic links`() async throws {
        try await withHarness { harness in
            let base = try harness.directory.makeDirectory("base")
            let inner = try harness.directory.makeDirectory("base/a/b")
            symlink("/etc", "\(base)/link")
            symlink("b", "\(base)/a/c")
            for path in [base, inner] {
                var (opened, named) = (try ExecDirectory.open(path, in: base).facts(path), stat())
                stat(path, &named)
                #expect(opened.st_ino == named.st_ino)
                opened.st_ino = 0
            }
            for path in ["\(base)/link", "\(base)/link/apt", "\(base)/a/c", "\(base)/../x", "\(base)/none"] {
                let error = #expect(throws: CommandFailure.self) { try ExecDirectory.open(path, in: base) }
                #expect(error?.fault == .final)
            }
        }
    }

    @Test func `a temporary directory is removed with everything in it`() async throws {
        try await withHarness { harness in
            let path = "\(harness.directory.path)/tmp"
            let outside = try harness.directory.file("outside", [1])
            let directory = try ExecTemporaryDirectory(path)
            var facts = stat()
            stat(path, &facts)
            #expect(facts.st_mode & 0o777 == 0o700)
            // Deep, without permissions, with links to the outside and odd names.
            let text = """
                chdir $ARGV[0]; for (1..200) { mkdir 'd'; chdir 'd' } open F, '>f'; chdir $ARGV[0];
                mkdir $_ for 'a', 'a/b', 'a/b/c', '1', '2', '-x'; for ('a/b/c/f', "a/\n", "a/\\xff") { open F, ">$_" }
                symlink $ARGV[1], $_ for 'a/link', 'a/b/l', 'l'; symlink '/', 'root';
                chmod 0, 'a/b/c'; chmod 0500, 'a/b';
                chmod 0, 'a'
                """
            let run = try await harness.run(try harness.program(perl, ["-e", text, path, outside]))
            #expect(run.end.outcome == .exited(0) && run.errorText.isEmpty)
            directory.remove()
            #expect(lstat(path, &facts) != 0)
            stat(outside, &facts)
            #expect(contents(of: outside) == [1] && facts.st_mode & 0o777 != 0o700)
            // A left one is replaced.
            _ = try ExecTemporaryDirectory(path)
            _ = try harness.directory.file("tmp/left", [])
            _ = try ExecTemporaryDirectory(path)
            let left = try FileManager.default.contentsOfDirectory(atPath: path)
            #expect(left.isEmpty)
        }
    }
}
