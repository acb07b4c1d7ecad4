internal import Commands
internal import Console

/// The files that a put would submit, as `--dry-run` prints them.
struct DryRun {
    struct File {
        let path: String
        /// Nil where the server chooses it.
        let target: String?
        /// Bytes.
        let size: Int64
    }

    let files: [File]
    /// The number of entries that are left out.
    let omitted: Int

    /// A line for each file, then their number and sum.
    func write(asJSON: Bool) {
        let bytes = files.map(\.size).clampedSum
        for file in files {
            if asJSON {
                Output.line(
                    JSONValue.object([
                        .init("file", .string(file.path)), .init("to", file.target.map { .string($0) } ?? .null),
                        .init("size", .integer(file.size)),
                    ]).bytes)
            } else {
                let size = Figures.bytes(file.size)
                let space = String(repeating: " ", count: max(8 - size.utf8.count, 0))
                Output.line("\(space)\(size)  \(file.path)\(file.target.map { "  \($0)" } ?? "")")
            }
        }
        if asJSON {
            Output.line(
                JSONValue.object([
                    .init("files", .integer(Int64(files.count))), .init("bytes", .integer(bytes)),
                    .init("omitted", .integer(Int64(omitted))),
                ]).bytes)
        } else {
            let count = Figures.grouped(Int64(files.count))
            Output.line(
                "\(count) \(files.count == 1 ? "file" : "files"), \(Figures.bytes(bytes)); nothing was submitted")
        }
    }
}
