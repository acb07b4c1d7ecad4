package import Commands

extension Destination {
    /// The file system that holds an absolute path, named by its mount point. Only the mount table is read, so that a file
    /// system which hangs is named as well.
    package static func file(at path: String) -> Destination {
        file(mountPoint: CurrentMounts.shared.mount(of: path)?.point ?? "/")
    }

    /// Of a URL that a person writes: a path in a `file:` URL stands for the file system that holds it.
    package init?(url text: String) {
        guard let destination = Destination(text) else { return nil }
        let url = destination.isFile ? try? UploadURL(text) : nil
        self = url.map { .file(at: $0.filePath) } ?? destination
    }
}
