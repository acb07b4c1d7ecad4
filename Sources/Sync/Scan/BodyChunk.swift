/// A part of a body while it is scanned.
struct BodyChunk {
    let array: [UInt8]
    /// The bytes of ``array``.
    let bytes: JSONBytes
    /// Bytes of the body before this part.
    let offset: Int
}
