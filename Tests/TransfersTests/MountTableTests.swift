import Testing
import Transfers

@Suite struct MountTableTests {
    @Test func `the mount of a path has the longest mount point that is a prefix of it, by names and bytes`() {
        let table = MountTable(
            parsing: """
                22 1 254:1 / / rw,relatime - ext4 /dev/vda rw
                30 22 0:40 / /mnt rw - tmpfs tmpfs rw
                31 30 0:41 / /mnt/a\\040b rw - fuse.bindfs x rw
                32 30 0:42 / /mnt/hung rw shared:5 - fuse.bindfs x rw
                33 32 0:43 / /mnt/hung rw - nfs4 x rw
                nonsense
                """.utf8)
        let cases = [
            ("/", "254:1"), ("/etc/x", "254:1"), ("/mnt", "0:40"), ("/mnt/x", "0:40"), ("/mntx/y", "254:1"),
            ("/mnt/a b/c", "0:41"), ("/mnt/hung", "0:43"), ("/mnt//hung/./x", "0:43"), ("/mnt/hung/../x", "0:40"),
            ("/mnt/hungry", "0:40"), ("/mnt/hung\u{301}/x", "0:40"), ("/../../etc", "254:1"),
        ]
        for (path, device) in cases { #expect(table.mount(of: path)?.device == device, "\(path)") }
        #expect(MountTable(parsing: [0xFF, 0x20, 0x0A]).mount(of: "/") == nil)
    }
}
