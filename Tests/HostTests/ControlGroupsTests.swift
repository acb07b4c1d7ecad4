import Foundation
import TestSupport
import Testing

@testable import Host

@Suite struct ControlGroupsTests {
    private func with(_ files: [String: String], _ body: (String) throws -> Void) throws {
        let directory = try TemporaryDirectory("groups")
        defer { directory.remove() }
        for (path, text) in files {
            let path = "\(directory.path)/\(path)"
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }
        try body(directory.path)
    }

    private func unified(_ path: String, root: String = "/") -> String {
        "31 23 0:28 \(root) \(path) rw,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
    }

    @Test(arguments: [("populated 1\nfrozen 1\n", true), ("populated 1\nfrozen 0\n", false), ("", false)])
    func `a process is frozen where the events of its group say so`(_ events: String, _ isFrozen: Bool) throws {
        try with(["a/b/cgroup.events": events]) { path in
            #expect(ControlGroups(membership: "0::/a/b\n", mounts: unified(path)).isFrozen == isFrozen)
            #expect(!ControlGroups(membership: "0::/a\n", mounts: unified(path)).isFrozen)
        }
    }

    @Test func `the freezer of version 1 is asked too`() throws {
        try with(["a/freezer.state": "FROZEN\n", "b/freezer.state": "THAWED\n"]) { path in
            let mount = "37 31 0:34 / \(path) rw - cgroup cgroup rw,freezer\n"
            for (group, isFrozen) in [("a", true), ("b", false), ("c", false)] {
                let membership = "9:name=systemd:/\n6:freezer:/\(group)\n0::/\n"
                #expect(ControlGroups(membership: membership, mounts: mount).isFrozen == isFrozen)
            }
        }
    }

    /// A container that shows only its own groups, from inside and from outside; the group of another container.
    @Test func `groups are found below the root of their mount, and never outside of it`() throws {
        try with(["cgroup.events": "frozen 1\n", "w/cgroup.events": "frozen 0\n"]) { path in
            #expect(ControlGroups(membership: "0::/\n", mounts: unified(path)).isFrozen)
            #expect(ControlGroups(membership: "0::/docker/x\n", mounts: unified(path, root: "/docker/x")).isFrozen)
            #expect(!ControlGroups(membership: "0::/docker/x/w\n", mounts: unified(path, root: "/docker/x")).isFrozen)
            #expect(!ControlGroups(membership: "0::/../y\n", mounts: unified(path)).isFrozen)
            #expect(!ControlGroups(membership: "", mounts: "").isFrozen)
        }
    }

    @Test func `the group with the fewest processes left counts, of the group and its parents`() throws {
        try with([
            "a/pids.max": "20\n", "a/pids.current": "15\n", "a/b/pids.max": "max\n", "a/b/pids.current": "15\n",
            "a/b/c/pids.max": "10\n", "a/b/c/pids.current": "1\n",
        ]) { path in
            let limit = ControlGroups(membership: "0::/a/b/c\n", mounts: unified(path)).tightestProcessLimit
            #expect(limit?.directory == "\(path)/a" && limit?.max == 20 && limit?.current == 15)
            #expect(ControlGroups(membership: "0::/\n", mounts: unified(path)).tightestProcessLimit == nil)
        }
    }
}
