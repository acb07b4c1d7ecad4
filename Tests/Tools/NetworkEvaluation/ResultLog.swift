import Commands
import Foundation

/// The file `results.jsonl`: a line for each run, appended and flushed when the run has ended.
struct ResultLog {
    private let path: String

    init(directory: String) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        path = "\(directory)/results.jsonl"
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(fileURLWithPath: path)) }
        // End a line that was cut when the machine stopped, so that the next record is a line of its own.
        let last = try Data(contentsOf: URL(fileURLWithPath: path)).last
        if let last, last != UInt8(ascii: "\n") { try append([UInt8(ascii: "\n")]) }
    }

    /// Replaces all lines.
    func replace(_ records: [RunRecord]) throws {
        let lines = records.flatMap { $0.json.bytes + [UInt8(ascii: "\n")] }
        try Data(lines).write(to: URL(fileURLWithPath: path), options: .atomic)
    }

    func append(_ record: RunRecord) throws { try append(record.json.bytes + [UInt8(ascii: "\n")]) }

    private func append(_ bytes: [UInt8]) throws {
        guard let file = FileHandle(forWritingAtPath: path) else { throw CocoaError(.fileWriteUnknown) }
        try file.seekToEnd()
        try file.write(contentsOf: Data(bytes))
        try file.synchronize()
        try file.close()
    }

    /// Every run so far. A line that was cut when the machine stopped is skipped, and its run is repeated.
    func records() throws -> [RunRecord] {
        try Data(contentsOf: URL(fileURLWithPath: path)).split(separator: UInt8(ascii: "\n")).compactMap { line in
            (try? JSONValue(parsing: Array(line))).flatMap(RunRecord.init)
        }
    }
}
