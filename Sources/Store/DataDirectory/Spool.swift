package import Commands
internal import Glibc

/// `<data>/spool`: copies of sources that belong to Sluice, so that later changes of the originals have no
/// effect.
package struct Spool: Sendable {
    /// An existing directory with mode 0700.
    package let directory: String
    /// The umask of the process that submits: permissions that a copy to a `file:` URL does not get.
    package let umask: UInt32

    package init(directory: String, umask: UInt32 = 0) {
        self.directory = directory
        self.umask = umask
    }

    /// Deletes the copy that a payload names, if it is in this spool. For a failed submit, or a command that
    /// is pruned.
    package func discard(_ payload: JSONValue) {
        if let file = payload["file"]?.string { discard(file: file) }
    }

    /// Deletes a file of this spool and no other. The path may name the directory in any way: relative,
    /// through a link, or with a slash at its end.
    package func discard(file: String) {
        // A file without the name of a copy is not even examined: it may be on a hung file system.
        guard CommandID(file.lastPathName) != nil else { return }
        let parent = file.parentPath
        var theirs = stat()
        var ours = stat()
        guard stat(parent, &theirs) == 0, stat(directory, &ours) == 0, theirs.st_dev == ours.st_dev,
            theirs.st_ino == ours.st_ino
        else { return }
        unlink(file)
    }

    /// As ``discard(_:)``, of a stored payload.
    package func discard(stored payload: [UInt8]) {
        if let payload = try? JSONValue(parsing: payload) { discard(payload) }
    }
}
