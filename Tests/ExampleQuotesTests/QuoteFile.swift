import Glibc
import TestSupport

/// A file of quotes in a directory of its own.
struct QuoteFile {
    let path: String
    private let directory: TemporaryDirectory

    init(_ quotes: [String]) throws {
        directory = try TemporaryDirectory("quotes")
        path = "\(directory.path)/all.txt"
        guard let file = fopen(path, "w") else { throw Missed("cannot write \(path)") }
        for quote in quotes { fputs("\(quote)\n", file) }
        fclose(file)
    }

    func remove() { directory.remove() }
}
