package import Commands
package import Glibc
package import Operations

/// The state of a file: recorded when a command is submitted, compared when its bytes are sent.
package struct SourceIdentity: Sendable, Equatable {
    /// Bytes.
    package var size: Int64
    /// The modification time, in nanoseconds since 1970.
    package var modified: Int64
    /// 0 where the file system may assign new numbers (``FileSystemType/hasStableInodes``); then it is not
    /// compared.
    var inode: Int64
    /// Recorded but not compared: network and overlay file systems get new device numbers at every boot.
    var device: Int64

    init(size: Int64, modified: Int64, inode: Int64, device: Int64) {
        self.size = size
        self.modified = modified
        self.inode = inode
        self.device = device
    }

    /// - Parameter hasStableInode: whether the file system keeps inode numbers.
    package init(_ status: stat, hasStableInode: Bool) {
        size = Int64(status.st_size)
        // This overflows for years before 1678 and after 2261, which file systems can store. Only equality matters.
        modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        inode = hasStableInode ? Int64(truncatingIfNeeded: status.st_ino) : 0
        device = Int64(truncatingIfNeeded: status.st_dev)
    }

    /// - Returns: the difference from `recorded`, as text; nil for none.
    package func difference(from recorded: SourceIdentity) -> String? {
        if inode != recorded.inode, inode != 0, recorded.inode != 0 {
            return "it is another file now (inode \(inode), was \(recorded.inode))"
        }
        if size != recorded.size { return "it has \(size) bytes now, had \(recorded.size)" }
        if modified != recorded.modified {
            let time = Timestamp(milliseconds: modified / 1_000_000)
            return "it was written to at \(time)"
        }
        return nil
    }
}

extension SourceIdentity {
    /// The value of `source` in the payload.
    package var json: JSONValue {
        [
            "size": .integer(size), "mtime": .integer(modified), "inode": .integer(inode), "device": .integer(device),
        ]
    }

    /// Size and modification time only. They stay the same as long as the content does, while a copy of the
    /// file or a new mount may have another inode or device.
    package var content: JSONValue { ["size": .integer(size), "mtime": .integer(modified)] }

    package init(_ value: JSONValue) throws(PayloadError) {
        guard let members = value.members else {
            throw PayloadError(.data, "“source” must be an object, not \(value.kind)")
        }
        self.init(size: 0, modified: 0, inode: 0, device: 0)
        for name in ["size", "mtime", "inode"] where value[name] == nil {
            throw PayloadError(.data, "“source” lacks “\(name)”; leave “source” out, it is recorded at submit")
        }
        for member in members {
            guard let number = member.value.integer else {
                throw PayloadError(.data, "“\(member.name)” in “source” must be a whole number")
            }
            switch member.name {
            case "size": size = number
            case "mtime": modified = number
            case "inode": inode = number
            case "device": device = number
            default: throw PayloadError(.data, "unknown key “\(member.name)” in “source”")
            }
        }
    }
}
