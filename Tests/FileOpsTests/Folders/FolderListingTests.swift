import Foundation
import Operations
import TestSupport
import Testing

@testable import FileOps

@Suite struct FolderListingTests {
    private func with(_ body: (TemporaryDirectory, String) throws -> Void) throws {
        let directory = try TemporaryDirectory("folder")
        defer { directory.remove() }
        for path in ["top/b/c", "top/.hidden", "top/empty", "outside"] { _ = try directory.makeDirectory(path) }
        for (path, size) in [("top/z", 1), ("top/b/c/d e", 2), ("top/.hidden/f", 3), ("top/B", 4), ("outside/g", 5)] {
            _ = try directory.file(path, [UInt8](repeating: 7, count: size))
        }
        try body(directory, "\(directory.path)/top")
    }

    @Test func `all regular files are listed in the order of their names, hidden ones too`() throws {
        try with { (_, top) throws in
            for start in [top, top + "/"] {
                let listing = try FolderListing(of: start, PathFilter())
                #expect(listing.files.map(\.path) == [".hidden/f", "B", "b/c/d e", "z"])
                #expect(listing.files.map(\.size) == [3, 4, 2, 1] && listing.omissions.isEmpty)
            }
        }
    }

    @Test func `links are not followed, and links and special files are named`() throws {
        try with { (directory, top) throws in
            #expect(symlink("../outside", "\(top)/folder") == 0 && symlink("z", "\(top)/file") == 0)
            #expect(symlink("nowhere", "\(top)/b/dangling") == 0 && mkfifo("\(top)/fifo", 0o600) == 0)
            let listing = try FolderListing(of: top, PathFilter(excluding: ["dangling"]))
            #expect(listing.files.count == 4)
            #expect(
                listing.omissions == [
                    .init("fifo", .special), .init("file", .symbolicLink), .init("folder", .symbolicLink),
                ])
            // The folder that is named may be a link.
            #expect(symlink("top", "\(directory.path)/link") == 0)
            #expect(try FolderListing(of: "\(directory.path)/link", PathFilter()).files.count == 4)
        }
    }

    @Test func `an excluded folder is not read, and one that cannot be read ends the listing`() throws {
        try with { (_, top) throws in
            chmod("\(top)/b", 0)
            defer { chmod("\(top)/b", 0o700) }
            #expect(try FolderListing(of: top, PathFilter(excluding: ["b/"])).files.count == 3)
            // Root reads every folder.
            guard geteuid() != 0 else { return }
            let error = #expect(throws: PayloadError.self) { try FolderListing(of: top, PathFilter()) }
            #expect(error?.message.contains("\(top)/b cannot be read") == true)
        }
    }

    @Test func `a name that is not UTF-8 is refused by name, or excluded`() throws {
        try with { (_, top) throws in
            let name = Array("\(top)/b/n".utf8) + [0xFF]
            let descriptor = (name + [0]).withUnsafeBufferPointer { bytes in
                bytes.withMemoryRebound(to: CChar.self) { creat($0.baseAddress!, 0o600) }
            }
            #expect(descriptor >= 0)
            close(descriptor)
            let error = #expect(throws: PayloadError.self) { try FolderListing(of: top, PathFilter()) }
            #expect(error?.message.contains("n\\xff") == true && error?.problem == .source)
            #expect(try FolderListing(of: top, PathFilter(excluding: ["b/n*"])).files.count == 4)
        }
    }

    @Test func `a file that vanishes or is replaced after the listing is recognised, and one that grows is not`() throws
    {
        try with { (directory, top) throws in
            let files = try FolderListing(of: top, PathFilter()).files
            func change(_ path: String) -> FolderListing.Omission.Reason? {
                files.first { $0.path == path }?.change(at: "\(top)/\(path)")
            }
            for file in files { #expect(file.change(at: "\(top)/\(file.path)") == nil) }
            unlink("\(top)/z")
            #expect(change("z") == .vanished)
            #expect(rename("\(top)/b", "\(top)/moved") == 0 && change("b/c/d e") == .vanished)
            // A folder that is replaced by a link to another place.
            _ = try directory.makeDirectory("outside/c")
            _ = try directory.file("outside/c/d e", [1])
            #expect(symlink("../outside", "\(top)/b") == 0 && change("b/c/d e") == .replaced)
            _ = try directory.file("top/B", [1, 2, 3, 4, 5, 6])
            #expect(change("B") == nil)
        }
    }

    @Test func `a key is of one path, size and time`() throws {
        try with { (directory, top) throws in
            let files = try FolderListing(of: top, PathFilter()).files
            #expect(Set(files.map { $0.uniqueKey("k") }).count == 4)
            #expect(
                try FolderListing(of: top, PathFilter()).files.map { $0.uniqueKey("k") }
                    == files.map { $0.uniqueKey("k") })
            _ = try directory.file("top/z", [1, 2])
            let changed = try FolderListing(of: top, PathFilter()).files
            #expect(zip(files, changed).filter { $0.uniqueKey("k") != $1.uniqueKey("k") }.map(\.0.path) == ["z"])
        }
    }
}
