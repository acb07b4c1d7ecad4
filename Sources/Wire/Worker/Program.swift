internal import Commands

/// The program of a worker, sent before each ``Hello``. Release 0.1.0 does not send it, and refuses a hello that has more
/// fields than its own, so these are a message of their own.
package struct Program: Sendable, Equatable {
    /// The release.
    package var version: String
    /// The newest version of the store's tables that it knows.
    package var store: Int
    /// The versions of frames that it can read.
    package var frames: ClosedRange<UInt8>

    package init(
        version: String = SluiceVersion.current, store: Int,
        frames: ClosedRange<UInt8> = FrameHead.version...FrameHead.version
    ) {
        self.version = version
        self.store = store
        self.frames = frames
    }

    func write(to writer: inout ByteWriter) {
        writer.text8(version)
        writer.uint16(store)
        writer.append(frames.lowerBound)
        writer.append(frames.upperBound)
    }

    init(from reader: inout ByteReader) throws(WireError) {
        version = try reader.text8("program version")
        store = try reader.uint16("store version")
        let lowest = try reader.uint8("lowest frame version")
        let highest = try reader.uint8("highest frame version")
        guard lowest <= highest else { throw WireError(.badValue, "highest frame version") }
        frames = lowest...highest
    }
}
