import HTTPClient
import NIOCore
import NIOHTTP1
import Operations

@testable import Transfers

/// Passes requests to a ``RandomDestination`` without a socket, and simulates connections that end.
struct InProcessTransport: RequestTransport {
    let destination: RandomDestination

    func send(
        _ parts: RequestSender.Parts, _ fields: HTTPHeaders, _ options: RequestOptions, for execution: CommandExecution
    ) async -> HTTPRecord {
        var record = HTTPRecord()
        let bytes: [UInt8]
        do {
            bytes = try Self.read(parts.body, parts.range.lowerBound, parts.range.upperBound)
        } catch {
            record.error = error
            return record
        }
        var names: [String: String] = [:]
        for field in fields { names[field.name.lowercased()] = field.value }
        record.mayHaveSent = true
        record.sentAll = true
        record.sentBytes = Int64(bytes.count)
        let reply = destination.handle(
            .init(method: parts.method.rawValue, path: parts.url.path, headers: names, body: bytes))
        switch reply {
        case .cut:
            record.error = HTTPError.broken(code: 104)
            // Half of the connections count as kept ones.
            record.keptConnectionEnded = bytes.count % 2 == 0
            record.wasUnderWay = !bytes.isEmpty
        case .answer(let status, let headers, let body):
            record.head = HTTPResponseHead(
                version: .http1_1, status: HTTPResponseStatus(statusCode: status),
                headers: HTTPHeaders(headers.map { ($0.name, $0.value) }))
            record.body = ByteBuffer(bytes: body)
            record.bodyBytes = body.count
            record.isComplete = true
        }
        return record
    }

    private static func read(_ body: HTTPTransfer.Body, _ start: Int64, _ size: Int64) throws -> [UInt8] {
        switch body {
        case .none: return []
        case .whole(let buffer): return Array(buffer.readableBytesView)
        case .file(let source, _), .unread(let source):
            return try [UInt8](unsafeUninitializedCapacity: Int(size - start)) { buffer, count in
                count = try source.read(into: UnsafeMutableRawBufferPointer(buffer), at: start)
            }
        }
    }
}
