package import Commands

extension ResourceURL {
    /// The destination; of a `file:` URL the file system that holds the path.
    package var fileDestination: Destination { scheme == .file ? .file(at: filePath) : destination }
}

extension Destination {
    /// The file system that holds an absolute path, named by its mount point. Only the mount table is read,
    /// so this works for a hung file system too.
    package static func file(at path: String) -> Destination {
        file(mountPoint: CurrentMounts.shared.mount(of: path)?.point ?? "/")
    }

    /// The destination of a URL. A path in a `file:` URL stands for the file system that holds it.
    package init?(url text: String) {
        guard let destination = Destination(text) else { return nil }
        let url = destination.isFile ? try? ResourceURL(text) : nil
        self = url?.fileDestination ?? destination
    }
}
