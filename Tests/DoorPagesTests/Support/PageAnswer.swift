import Door
import HTTPTypes
import NIOCore
import Synchronization

/// A response of the pages.
struct PageAnswer: Sendable {
    let status: Int
    let fields: HTTPFields
    let text: String

    init(_ response: Response) async throws {
        status = response.status.code
        fields = response.headers
        let writer = Writer()
        try await response.body.write(writer)
        text = String(decoding: writer.bytes.withLock(\.self), as: UTF8.self)
    }

    subscript(_ name: HTTPField.Name) -> String? { fields[name] }

    /// The values of an attribute, in the order of the page.
    func values(of attribute: String) -> [String] {
        var values: [String] = []
        var rest = text.utf8[...]
        let start = Array(" \(attribute)=\"".utf8)
        while let index = rest.indices.first(where: { rest[$0...].starts(with: start) }) {
            let value = rest[rest.index(index, offsetBy: start.count)...].prefix { $0 != UInt8(ascii: "\"") }
            values.append(String(value) ?? "")
            rest = rest[value.endIndex...]
        }
        return values
    }

    private final class Writer: ResponseBodyWriter, Sendable {
        let bytes = Mutex<[UInt8]>([])

        func write(_ buffer: ByteBuffer) { bytes.withLock { $0 += buffer.readableBytesView } }
        func finish(_ trailingHeaders: HTTPFields?) {}
    }
}
