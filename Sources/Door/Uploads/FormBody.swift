internal import Commands
internal import HTTPTypes
internal import NIOCore
internal import Uploads

/// The parts of a form, read from the body of a request. One task at a time uses it: the handler of the request, or the
/// task of the upload engine for which the handler waits.
final class FormBody: @unchecked Sendable {
    private var iterator: RequestBody.AsyncIterator
    private var parser: MultipartParser
    private let limits: MultipartLimits
    private let memory: BodyMemory.Share
    /// The first bytes of a part that ``isEmptyPart()`` has read.
    private var first: ArraySlice<UInt8>?
    private var isInPart = false

    init(
        _ body: RequestBody, boundary: [UInt8], limits: MultipartLimits = MultipartLimits(), memory: BodyMemory.Share
    ) {
        iterator = body.makeAsyncIterator()
        parser = MultipartParser(boundary: boundary, limits: limits)
        self.memory = memory
        self.limits = limits
    }

    /// The head of the next part, after the rest of the part before it; nil at the end of the form.
    func nextPart() async throws -> MultipartHead? {
        first = nil
        while true {
            switch try await next() {
            case .part(let head): return head
            case .end: return nil
            case .bytes, .partEnd: continue
            }
        }
    }

    /// Whether the part has no bytes.
    func isEmptyPart() async throws -> Bool {
        first = try await nextBytes()
        return first == nil
    }

    /// Reads the part as text, which takes a share of the memory of bodies while it is read.
    /// - Throws: 413 for more bytes than a field may have, 400 for bytes that are not UTF-8, 503 where the bodies of all
    ///   requests take too much memory.
    func text(of name: String) async throws -> String {
        var bytes: [UInt8] = []
        defer { memory.give(bytes.count) }
        while let next = try await nextBytes() {
            try memory.take(next.count)
            bytes += next
            guard bytes.count <= limits.maxField else {
                throw Problem(
                    .contentTooLarge, "invalid-form",
                    "The field “\(name.excerpt)” of the form has more than \(limits.maxField) bytes; send a "
                        + "shorter one.")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Problem(.badRequest, "invalid-form", "The field “\(name.excerpt)” of the form is not UTF-8.")
        }
        return text
    }

    /// Sends the rest of the part to the engine.
    func send(to receiver: any UploadReceiver) async throws {
        while let bytes = try await nextBytes() {
            bytes.withUnsafeBytes { receiver.add($0) }
            try await receiver.flush()
        }
    }

    private func nextBytes() async throws -> ArraySlice<UInt8>? {
        if let first {
            self.first = nil
            return first
        }
        guard isInPart, case .bytes(let bytes) = try await next() else { return nil }
        return bytes
    }

    private func next() async throws -> MultipartParser.Event {
        while true {
            if let event = try parser.next() {
                switch event {
                case .part: isInPart = true
                case .partEnd, .end: isInPart = false
                case .bytes: break
                }
                return event
            }
            guard let buffer = try await iterator.next() else {
                throw Problem(
                    .badRequest, "invalid-form", "The form ends before its closing boundary; send it again.")
            }
            parser.add(buffer.readableBytesView)
        }
    }
}
