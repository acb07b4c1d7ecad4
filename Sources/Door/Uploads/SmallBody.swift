internal import Commands
internal import Store
internal import Uploads

/// Gathers the body of a request that announces few bytes.
final class SmallBody: UploadReceiver {
    private let size: Int
    private var bytes: [UInt8] = []

    /// - Parameter size: as the request announces it.
    init(size: Int) {
        self.size = size
        bytes.reserveCapacity(size)
    }

    func add(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

    func flush() async throws(UploadError) {
        if bytes.count > size {
            throw UploadError(.inconsistentLength, "The request has more bytes than it announces.")
        }
    }

    func setChecksum(_ checksum: UploadDigest) {}

    /// - Throws: `interrupted` where the request was cut: over HTTP/2 that may look like its end.
    func whole() throws(UploadError) -> [UInt8] {
        guard bytes.count == size else {
            throw UploadError(.interrupted, "The request was cut; send it again.", offset: 0)
        }
        return bytes
    }
}
