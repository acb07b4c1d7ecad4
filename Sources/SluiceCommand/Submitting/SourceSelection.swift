internal import Commands
internal import FileOps
internal import Glibc

/// The files that the arguments of `put` and `s3 put` name: files themselves, and the files below folders.
struct SourceSelection {
    struct Source {
        /// As it is opened.
        let path: String
        /// Nil where an argument names the file.
        let file: FolderListing.File?
    }

    private(set) var sources: [Source] = []
    /// Entries that are left out, with their whole paths.
    private(set) var omissions: [FolderListing.Omission] = []
    /// Whether an argument names a folder.
    private(set) var hasFolder = false

    /// - Throws: ``ExitError``, `ValidationError` or `PayloadError` for a folder that cannot be read.
    init(_ arguments: [String], _ options: FolderOptions) throws {
        let filter = try options.filter()
        for argument in arguments {
            var status = stat()
            // A missing file is refused by the operation, as one that cannot be read.
            guard stat(argument, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                if filter.takes(argument.lastPathName.utf8) { sources.append(Source(path: argument, file: nil)) }
                continue
            }
            hasFolder = true
            let listing = try FolderListing(of: argument, filter)
            let start = argument.endsWithBytes(of: "/") ? argument : argument + "/"
            sources += listing.files.map { Source(path: start + $0.path, file: $0) }
            omissions += listing.omissions.map { .init(start + $0.path, $0.reason) }
        }
    }

    /// Keeps the sources for which `body` returns a value. A file that has vanished or was replaced since its folder was
    /// read is left out instead.
    /// - Throws: the error of `body` for any other file.
    mutating func checking<Value>(_ body: (Source) throws -> Value) throws -> [Value] {
        var kept: [Source] = []
        var values: [Value] = []
        for source in sources {
            let result = Result { try body(source) }
            if let reason = source.file?.change(at: source.path) {
                omissions.append(.init(source.path, reason))
            } else {
                values.append(try result.get())
                kept.append(source)
            }
        }
        sources = kept
        return values
    }

    /// Names the entries that are left out, on standard error.
    func sayOmissions() {
        for omission in omissions { Diagnostics.say("left out: \(omission.path) is \(omission.reason.rawValue)") }
    }
}
