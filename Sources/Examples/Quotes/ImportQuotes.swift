// An operation with a retry and with checkpoints, and a flow that uses it. Tests/ExampleQuotesTests tests both, with
// SluiceTesting: no process, no network, no waits.

internal import Glibc
public import Sluice

/// Imports a file of quotes, one a line, into a table: `{"file": "/path"}` leaves `{"rows": 3}`.
public struct ImportQuotes: CommandOperation {
    public let type = "import-quotes"
    public let rule = PayloadRule(isIdempotent: true)
    private let table: QuoteTable
    /// Rows between two checkpoints.
    private let batch: Int

    public init(into table: QuoteTable, batch: Int = 100) {
        self.table = table
        self.batch = batch
    }

    public func execute(_ execution: CommandExecution) async throws -> [UInt8]? {
        let quotes = try lines(of: execution.payload)
        // The rows that an earlier execution has imported.
        var position = execution.checkpoint.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
        while position < quotes.count {
            try Task.checkCancellation()
            let rows = Array(quotes[position...].prefix(batch))
            guard await table.write(rows, from: position) else {
                // Charged, and tried again after a backoff.
                throw CommandFailure(.command, reason: "the table is locked by another program", delivery: .refused)
            }
            position += rows.count
            try await execution.saveCheckpoint(Array("\(position)".utf8))
            execution.progress(offset: Int64(position), total: Int64(quotes.count))
        }
        return JSONValue.object([.init("rows", .integer(Int64(quotes.count)))]).bytes
    }

    private func lines(of payload: [UInt8]) throws(CommandFailure) -> [String] {
        guard let value = try? JSONValue(parsing: payload), let path = value["file"]?.string else {
            // A retry cannot succeed.
            throw CommandFailure(
                .final, reason: "the payload of import-quotes is {\"file\": PATH}", delivery: .refused)
        }
        guard let file = fopen(path, "r") else {
            throw CommandFailure(.command, reason: "cannot open “\(path)”; is it downloaded?", delivery: .refused)
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = getc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        return bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
    }
}
