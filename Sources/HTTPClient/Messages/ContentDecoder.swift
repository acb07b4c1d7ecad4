internal import CZlib
package import Commands
package import NIOCore
package import NIOHTTP1

/// Takes the content coding off the body of a response, piece by piece: `gzip`, `x-gzip` or `deflate` (RFC 9110,
/// section 8.4.1; RFC 1950 to 1952).
///
/// A piece has at most ``maxPiece`` bytes, so that a small body that becomes a large one (a decompression bomb) costs
/// no more memory than any other: the limits of its reader apply to the decoded bytes. A stream that ends early, or is
/// damaged, is a failure. Its checksum is checked at its end, so nothing is whole before ``finish()`` has returned.
///
/// One body, and no concurrent calls.
package final class ContentDecoder {
    private enum State {
        case start, within
        /// A stream is complete. Another may follow in a gzip body (RFC 1952, section 2.2), as in logs that were appended.
        case ended
    }

    /// Bytes of one piece at most.
    package static let maxPiece = 128 << 10
    /// How many times as large as the received bytes the decoded ones may be; JSON reaches 10 to 40, and the format 1,032.
    package static let maxRatio: Int64 = 400
    /// Decoded bytes up to which every ratio is permitted.
    package static let anyRatio: Int64 = 16 << 20

    /// The coding, in lower case as the server names it.
    package let coding: String
    /// The request in messages.
    private let request: String
    private let isGzip: Bool
    /// Length or chunks show that a body without bytes is whole.
    private let isEndMarked: Bool
    /// zlib keeps the address of its stream.
    private let stream: UnsafeMutablePointer<z_stream>
    private var received = CircularBuffer<ByteBuffer>()
    private var state = State.start
    /// zlib holds bytes for which the last piece had no room.
    private var holdsMore = false
    private var taken: Int64 = 0
    private var decoded: Int64 = 0

    /// - Parameters:
    ///   - head: of the response. A part of a body (206) is one of the encoded body, so that it stays as it is.
    ///   - request: `GET https://host/path`, for messages.
    /// - Returns: nil for a body without a coding.
    /// - Throws: `final` for a coding that is not known.
    package init?(_ head: HTTPResponseHead, to request: String) throws(CommandFailure) {
        let codings = head.headers[canonicalForm: "content-encoding"].map { $0.lowercased() }
            .filter { !$0.isEmpty && $0 != "identity" }
        guard let coding = codings.first, ![204, 205, 206, 304].contains(head.status.code) else { return nil }
        guard codings.count == 1, ["gzip", "x-gzip", "deflate"].contains(coding) else {
            throw Self.failure(
                .final,
                "\(request) was answered with the content coding \(SingleLine.text(codings.joined(separator: ", "), limit: 80))"
                    + ", which Sluice does not decode (it decodes gzip and deflate)")
        }
        self.coding = coding
        self.request = request
        isGzip = coding != "deflate"
        isEndMarked = head.headers.contains(name: "content-length") || head.headers.contains(name: "transfer-encoding")
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 16 more bits of the window mean the format of gzip.
        let code = inflateInit2_(
            stream, MAX_WBITS + (isGzip ? 16 : 0), ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard code == Z_OK else {
            throw Self.failure(.command, "cannot decode the body of \(request): zlib failed with \(code)")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deinitialize(count: 1)
        stream.deallocate()
    }

    /// Adds bytes of the body as they came.
    package func feed(_ bytes: ByteBuffer) {
        if bytes.readableBytes > 0 { received.append(bytes) }
    }

    /// - Returns: the next decoded bytes; nil: ``feed(_:)`` has to bring more.
    package func next() throws(CommandFailure) -> ByteBuffer? {
        while holdsMore || !received.isEmpty {
            if state == .ended, !(try beginsNextStream()) { continue }
            let piece = try inflateOnce()
            guard piece.readableBytes > 0 else { continue }
            decoded += Int64(piece.readableBytes)
            guard decoded <= Self.anyRatio || decoded / Self.maxRatio <= taken else { throw bomb }
            return piece
        }
        return nil
    }

    /// The whole body was received, and ``next()`` has returned nil.
    package func finish() throws(CommandFailure) {
        switch state {
        case .ended: return
        case .start where taken == 0 && isEndMarked: return
        case .start, .within:
            throw Self.failure(
                .command,
                "the body of \(request) ends within its \(coding) stream, after \(taken) bytes: it was cut off before it "
                    + "was sent")
        }
    }

    /// Behind the end of a stream: zeros, which pad a file on tape or disk (as gzip(1) permits them), or a stream.
    private func beginsNextStream() throws(CommandFailure) -> Bool {
        guard var bytes = received.first else { return false }
        let zeros = bytes.readableBytesView.prefix { $0 == 0 }.count
        bytes.moveReaderIndex(forwardBy: zeros)
        taken += Int64(zeros)
        keep(bytes)
        guard bytes.readableBytes > 0 else { return false }
        guard isGzip, inflateReset(stream) == Z_OK else {
            throw Self.failure(.command, "the body of \(request) has bytes behind the end of its \(coding) stream")
        }
        state = .within
        return true
    }

    private func inflateOnce() throws(CommandFailure) -> ByteBuffer {
        var bytes = received.first ?? ByteBuffer()
        var piece = ByteBuffer()
        var code = Z_OK
        var isFull = false
        let count = bytes.withUnsafeReadableBytes { input in
            // zlib takes the bytes as mutable ones, and does not change them (zlib.h, inflate).
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(input.count)
            _ = piece.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.maxPiece) { output in
                let room = min(output.count, Self.maxPiece)
                stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(room)
                code = inflate(stream, Z_NO_FLUSH)
                isFull = stream.pointee.avail_out == 0
                return room - Int(stream.pointee.avail_out)
            }
            let left = Int(stream.pointee.avail_in)
            (stream.pointee.next_in, stream.pointee.avail_in) = (nil, 0)
            return input.count - left
        }
        bytes.moveReaderIndex(forwardBy: count)
        taken += Int64(count)
        keep(bytes)
        switch code {
        case Z_STREAM_END: (state, holdsMore) = (.ended, false)
        // No progress without more bytes is not an error.
        case Z_OK, Z_BUF_ERROR: (state, holdsMore) = (.within, isFull)
        default:
            let problem = stream.pointee.msg.map { String(cString: $0) } ?? "zlib failed with \(code)"
            throw Self.failure(
                .command, "the body of \(request) is not a sound \(coding) stream, at byte \(taken): \(problem)")
        }
        return piece
    }

    /// The rest of the oldest received bytes.
    private func keep(_ bytes: ByteBuffer) {
        guard !received.isEmpty else { return }
        if bytes.readableBytes > 0 { received[received.startIndex] = bytes } else { received.removeFirst() }
    }

    private var bomb: CommandFailure {
        Self.failure(
            .final,
            "the body of \(request) becomes more than \(Self.maxRatio) times as large when its \(coding) is taken off, as "
                + "a decompression bomb does; nothing of it was used")
    }

    private static func failure(_ fault: CommandFailure.Fault, _ reason: String) -> CommandFailure {
        var failure = CommandFailure(fault, reason: reason)
        failure.isAnswer = true
        return failure
    }
}
