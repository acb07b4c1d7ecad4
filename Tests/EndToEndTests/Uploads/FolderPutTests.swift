import Commands
import Foundation
import Store
import TestSupport
import Testing

extension EndToEndTests {
    /// `put` of folders, from the command line to the receiver.
    struct FolderPutTests {
        private static let files = [
            "a b.txt": 10, ".hidden": 20, "sub/ü.txt": 30, "sub/deep/c.bin": 40, "sub/raw/d.tmp": 50,
        ]

        /// Makes the folder, with a link to a file outside.
        private func with(_ body: (Installation, _ folder: String) async throws -> Void) async throws {
            try await Installation.with { installation in
                for directory in ["in/sub/deep", "in/sub/raw", "in/empty"] {
                    _ = try installation.directory.makeDirectory(directory)
                }
                for (path, size) in Self.files {
                    _ = try installation.directory.file("in/\(path)", Self.bytes(size))
                }
                let outside = try installation.directory.file("outside", Self.bytes(60))
                #expect(symlink(outside, "\(installation.directory.path)/in/link") == 0)
                try await body(installation, "\(installation.directory.path)/in")
            }
        }

        private static func bytes(_ count: Int) -> [UInt8] {
            (0..<count).map { UInt8(truncatingIfNeeded: $0 &* count) }
        }

        @Test func `a folder arrives with the paths of its files, and links are named`() async throws {
            try await with { installation, folder in
                let receiver = try await installation.receiver()
                _ = try await installation.up()
                let put = try await installation.sluice("put", folder, "--to", "\(receiver.origin)/in/", "--wait")
                #expect(put.code == 0 && put.ids.count == 5, "\(put.output)\(put.errors)")
                #expect(put.errors.contains("left out: \(folder)/link is a symbolic link"), "\(put.errors)")
                let expected = Dictionary(
                    uniqueKeysWithValues: Self.files.map { path, size in
                        (
                            "/in/" + path.replacing(" ", with: "%20").replacing("ü", with: "%C3%BC"),
                            sha256(Self.bytes(size))
                        )
                    })
                let found = Dictionary(uniqueKeysWithValues: receiver.requests.map { ($0.target, $0.sha256) })
                #expect(found == expected)
            }
        }

        @Test func `patterns choose the files, and a dry run prints them and submits nothing`() async throws {
            try await with { installation, folder in
                let options = ["--include", "sub/", "--include", "*.txt", "--exclude", "raw/"]
                let to = "http://127.0.0.1:1/in/"
                func put(_ more: String...) async throws -> Installation.Finished {
                    try await installation.run(
                        program: "\(Installation.bin)/sluice", ["put", folder, "--to", to] + options + more)
                }
                let shown = try await put("--dry-run")
                #expect(shown.code == 0, "\(shown.errors)")
                #expect(
                    shown.lines == [
                        "    10 B  \(folder)/a b.txt  \(to)a%20b.txt",
                        "    40 B  \(folder)/sub/deep/c.bin  \(to)sub/deep/c.bin",
                        "    30 B  \(folder)/sub/ü.txt  \(to)sub/%C3%BC.txt", "3 files, 80 B; nothing was submitted",
                    ], "\(shown.output)")
                let lines = try await put("--dry-run", "--json").lines.map { try JSONValue(parsing: Array($0.utf8)) }
                #expect(lines.count == 4 && lines[0]["size"] == 10, "\(lines)")
                #expect(lines.last == ["files": 3, "bytes": 80, "omitted": 0])
                #expect(!FileManager.default.fileExists(atPath: installation.data))
                #expect(try await put().ids.count == 3)
                #expect(try installation.store().list(CommandFilter(), after: nil, limit: 10).count == 3)
            }
        }

        @Test func `a second put with a key submits only files that have changed`() async throws {
            try await with { installation, folder in
                func put() async throws -> (new: Set<CommandID>, existing: Int) {
                    let put = try await installation.sluice(
                        "put", folder, "--to", "http://127.0.0.1:1/in/", "--unique-key", "nightly", "--json")
                    #expect(put.code == 0, "\(put.errors)")
                    let lines = try put.lines.map { try JSONValue(parsing: Array($0.utf8)) }
                    let new = lines.filter { $0["existing"] == false }.compactMap { $0["id"]?.string }
                    return (Set(new.compactMap { CommandID($0) }), lines.count - new.count)
                }
                let first = try await put()
                #expect(first.new.count == 5 && first.existing == 0)
                let second = try await put()
                #expect(second.new.isEmpty && second.existing == 5)
                _ = try installation.directory.file("in/sub/new", [1])
                _ = try installation.directory.file("in/a b.txt", Self.bytes(11))
                let third = try await put()
                #expect(third.new.count == 2 && third.existing == 4)
            }
        }

        @Test func `a spooled folder arrives without its originals, in a file URL whose folders are made`() async throws
        {
            try await with { installation, folder in
                let target = try installation.directory.makeDirectory("target")
                let put = try await installation.sluice("put", folder, "--to", "file://\(target)/", "--spool")
                #expect(put.code == 0 && put.ids.count == 5, "\(put.errors)")
                try FileManager.default.removeItem(atPath: folder)
                _ = try await installation.up()
                for id in put.ids { _ = try await installation.await(id, .success, in: try installation.store()) }
                for (path, size) in Self.files {
                    #expect(contents(of: "\(target)/\(path)") == Self.bytes(size), "\(path)")
                }
            }
        }

        @Test(.enabled(if: isAvailable(NginxServer.isInstalled), "nginx is not installed"))
        func `nginx gets a folder of 1,000 files`() async throws {
            try await Installation.with { installation in
                let nginx = try await NginxServer(in: installation.directory.path)
                defer { Task { await nginx.stop() } }
                _ = try await installation.up(workers: 2)
                for folder in 0..<20 {
                    _ = try installation.directory.makeDirectory("in/\(folder)/x")
                    for file in 0..<50 {
                        _ = try installation.directory.file("in/\(folder)/x/\(file)", Self.bytes(100 + file))
                    }
                }
                let put = try await installation.sluice(
                    "put", "\(installation.directory.path)/in", "--to", "\(nginx.origin)/dav/in/", "--wait")
                #expect(put.code == 0 && put.ids.count == 1000, "\(put.errors)")
                for (folder, file) in [(0, 0), (7, 31), (19, 49)] {
                    #expect(contents(of: "\(nginx.root)/in/\(folder)/x/\(file)") == Self.bytes(100 + file))
                }
            }
        }

        @Test(arguments: [
            (["--to", "http://h/in"], 64, "must end in a slash"),
            (["--to", "http://h/", "--include", "*.{a,b}"], 64, "“{”"),
            (["--to", "http://h/", "--exclude", ""], 64, "matches nothing"),
        ])
        func `wrong arguments are refused before anything is submitted`(
            _ arguments: [String], _ code: Int32, _ words: String
        ) async throws {
            try await with { installation, folder in
                let refused = try await installation.run(
                    program: "\(Installation.bin)/sluice", ["put", folder] + arguments)
                #expect(refused.code == code && refused.errors.contains(words), "\(refused.errors)")
                #expect(!FileManager.default.fileExists(atPath: installation.data))
            }
        }

        @Test func `two files of folders that would have one URL are refused, and an empty folder sends nothing`()
            async throws
        {
            try await with { installation, folder in
                _ = try installation.directory.makeDirectory("other/sub")
                let empty = try await installation.sluice(
                    "put", "\(installation.directory.path)/other", "--to", "http://h/in/")
                #expect(empty.code == 0 && empty.output.isEmpty && empty.errors.contains("no file"), "\(empty.errors)")
                _ = try installation.directory.file("other/sub/ü.txt", [1])
                let refused = try await installation.sluice(
                    "put", folder, "\(installation.directory.path)/other", "--to", "http://h/in/")
                #expect(refused.code == 64 && refused.errors.contains("one would be lost"), "\(refused.errors)")
            }
        }
    }
}
