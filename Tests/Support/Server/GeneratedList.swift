internal import Glibc
internal import Host

/// A server that answers every request with one long JSON array, which it makes while it sends: a list of any
/// length costs it no memory. The records are `{"id":"r000000001","text":"…"}`.
package final class GeneratedList: Sendable {
    private static let block = 256

    package let port: Int
    private let records: Int
    private let recordBytes: Int
    private let listener: CInt

    /// - Parameters:
    ///   - records: of the list.
    ///   - recordBytes: of each record, from 64.
    package init(records: Int, recordBytes: Int) throws {
        (self.records, self.recordBytes) = (records, recordBytes)
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        port = try bindToFreePort(listener)
        guard listen(listener, 16) == 0 else { throw Missed("cannot listen on port \(port)") }
        startThread(named: "list-server") { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                answer(connection)
                close(connection)
            }
        }
    }

    package var url: String { "http://127.0.0.1:\(port)/list" }
    /// Of the body.
    package var bytes: Int { records * (recordBytes + 1) + 1 }

    package func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private func answer(_ connection: CInt) {
        guard readHead(connection) else { return }
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(bytes)\r\nConnection: close\r\n\r\n"
        guard send(Array(head.utf8), to: connection) else { return }
        var next = 0
        while next < records {
            let end = min(next + Self.block, records)
            var text: [UInt8] = []
            text.reserveCapacity((end - next) * (recordBytes + 1) + 1)
            for record in next..<end { append(record, to: &text) }
            if end == records { text.append(UInt8(ascii: "]")) }
            guard send(text, to: connection) else { return }
            next = end
        }
    }

    private func append(_ record: Int, to text: inout [UInt8]) {
        let number = "\(record)"
        let start =
            "{\"id\":\"r" + String(repeating: "0", count: max(9 - number.utf8.count, 0)) + number + "\",\"text\":\""
        text.append(UInt8(ascii: record == 0 ? "[" : ","))
        text += start.utf8
        text += repeatElement(UInt8(ascii: "x"), count: max(recordBytes - start.utf8.count - 2, 0))
        text += "\"}".utf8
    }

    /// - Returns: false where the connection ends within the head.
    private func readHead(_ connection: CInt) -> Bool {
        var head: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !String(decoding: head.suffix(4), as: UTF8.self).hasSuffix("\r\n\r\n") {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0, head.count < 1 << 16 else { return false }
            head += buffer[..<count]
        }
        return true
    }

    private func send(_ bytes: [UInt8], to connection: CInt) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { bytes in
                Glibc.send(
                    connection, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}
