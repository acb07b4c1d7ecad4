import Commands
import Foundation
import TestSupport
import Testing

/// Copies of the files of a folder.
@Suite struct FolderCopyTests {
    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test func `the folders of a path are made with the permissions of the file`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.file("source", [1, 2, 3])
            for (permissions, made) in [(0o640, 0o750), (0o600, 0o700)] as [(mode_t, mode_t)] {
                chmod(file, permissions)
                let path = "a \(permissions)/b/c"
                let (execution, _) = try harness.execution(
                    file: file, to: "file://\(target)/", extra: [.init("path", .string(path))])
                _ = try await harness.run(execution)
                #expect(contents(of: "\(target)/\(path)") == [1, 2, 3])
                #expect(mode("\(target)/a \(permissions)") == made && mode("\(target)/a \(permissions)/b") == made)
            }
        }
    }

    @Test func `the folder of the URL itself is not made, nor one in place of a file`() async throws {
        try await withTarget { harness, target in
            let file = try harness.directory.file("source", [1])
            _ = try harness.directory.file("target/a", [2])
            for (to, path) in [("\(target)/absent/", "x/y"), ("\(target)/", "a/y")] {
                let (execution, _) = try harness.execution(
                    file: file, to: "file://\(to)", extra: [.init("path", .string(path))])
                let failure = await #expect(throws: CommandFailure.self) { _ = try await harness.run(execution) }
                #expect(failure?.fault == .final, "\(String(describing: failure))")
            }
            #expect(access("\(target)/absent", F_OK) != 0 && contents(of: "\(target)/a") == [2])
        }
    }
}
