/// The bytes of a chunked body that are not its content: the sizes and extensions of chunks, which the parser drops without
/// a limit. Used on the event loop of its connection only.
final class ChunkOverhead {
    /// Bytes for each byte of content: a chunk of one byte has five.
    static let maxRatio = 16
    /// Bytes in addition, with the fields of the request, which come in the same read.
    static let allowance = 256 << 10

    private var isChunked = false
    private var read = 0
    private var content = 0
    /// Called once, when a body has too many.
    var exceeded: () -> Void = {}

    func beginBody(isChunked: Bool) { (self.isChunked, read, content) = (isChunked, 0, 0) }

    func contentRead(_ bytes: Int) { content += bytes }

    func endBody() { isChunked = false }

    /// Bytes of the socket were read, and those of a body among them were given to ``contentRead(_:)``.
    func bytesRead(_ bytes: Int) {
        guard isChunked else { return }
        read += bytes
        guard read - content > Self.allowance, (read - content - Self.allowance) / Self.maxRatio > content else {
            return
        }
        isChunked = false
        exceeded()
    }
}
