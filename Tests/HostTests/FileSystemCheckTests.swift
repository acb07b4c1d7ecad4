import TestSupport
import Testing

@testable import Host

@Suite struct FileSystemCheckTests {
    private static let table = """
        24 29 0:22 / /proc rw,nosuid - proc proc rw
        29 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
        40 29 0:39 / /srv/my\\040disk rw,relatime - fuse.sshfs host:/ rw,user_id=0
        41 29 0:300 / /nfs rw,relatime shared:7 master:2 - nfs4 server:/export rw
        42 29 bad line
        """

    @Test func `the type of a file system is that of its device in the table of mounts`() {
        #expect(FileSystemCheck.mountedType(device: 39, Self.table) == "fuse.sshfs")
        #expect(FileSystemCheck.mountedType(device: 254 << 8, Self.table) == "ext4")
        // The minor number 300 as stat(2) has it.
        #expect(FileSystemCheck.mountedType(device: 300 & 0xFF | 256 << 12, Self.table) == "nfs4")
        #expect(FileSystemCheck.mountedType(device: 77, Self.table) == nil)
        #expect(FileSystemCheck.mountedType(device: 39, "") == nil)
    }

    @Test func `a local file system has all that a store needs`() throws {
        let directory = try TemporaryDirectory("file-system")
        defer { directory.remove() }
        let check = try FileSystemCheck(of: directory.path)
        #expect(check.missing == nil && check.warning(directory.path) == nil)
        #expect(throws: SystemError.self) { try FileSystemCheck(of: "\(directory.path)/none") }
    }

    @Test(arguments: [0x6969, 0xFF53_4D42, 0xFE53_4D42, 0x0102_1997])
    func `a file system that other machines may use is named`(_ magic: Int) throws {
        let name = try #require(FileSystemType(magic: magic).sharedName)
        let warning = try #require(FileSystemCheck(name: name, isShared: true).warning("/srv/data"))
        #expect(warning.hasPrefix("/srv/data is on a file system of the type \(name)"))
        #expect(!FileSystemType(magic: magic).hasStableInodes)
    }
}
