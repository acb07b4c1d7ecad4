internal import Glibc
internal import Host

/// Lines of a descriptor, in large reads. A line that is too long is reported before all of it is in memory.
struct LineReader {
    enum Line {
        case line(ArraySlice<UInt8>)
        case tooLong
        case end
    }

    private let descriptor: CInt
    private let limit: Int
    private var buffer: [UInt8] = []
    private var position = 0
    private var isAtEnd = false
    private static let chunk = 1 << 18

    /// - Parameter limit: bytes that a line may have.
    init(descriptor: CInt, limit: Int) {
        self.descriptor = descriptor
        self.limit = limit
    }

    /// The next line is not complete, and no byte can be read at once.
    var mayBlock: Bool {
        guard !isAtEnd, newline(from: position) == nil else { return false }
        var input = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 0) == 0
    }

    /// The next line without its line break. Blocks.
    mutating func next() throws -> Line {
        var searched = position
        while true {
            if let end = newline(from: searched) {
                defer { position = end + 1 }
                return end - position > limit ? .tooLong : .line(buffer[position..<end])
            }
            searched = buffer.count
            if searched - position > limit { return .tooLong }
            if isAtEnd {
                guard position < buffer.count else { return .end }
                defer { position = buffer.count }
                return .line(buffer[position...])
            }
            searched -= position
            try fill()
        }
    }

    private func newline(from start: Int) -> Int? {
        buffer.withUnsafeBytes { bytes in
            guard start < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + start, CInt(UInt8(ascii: "\n")), bytes.count - start)
            else { return nil }
            return base.distance(to: UnsafeRawPointer(found))
        }
    }

    /// Drops the lines that were returned, and reads more.
    private mutating func fill() throws {
        if position > 0 {
            buffer.removeSubrange(..<position)
            position = 0
        }
        let count = buffer.count
        buffer.append(contentsOf: repeatElement(0, count: Self.chunk))
        while true {
            let got = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + count, Self.chunk) }
            if got >= 0 {
                buffer.removeLast(Self.chunk - got)
                isAtEnd = got == 0
                return
            }
            guard errno == EINTR else {
                throw ExitError(.input, "cannot read standard input: \(SystemError().reason)")
            }
        }
    }
}
