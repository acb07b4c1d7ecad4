/// The lines of a bulk that are not blank, with their numbers from 1 on. It makes no list of them: 16 MiB of line feeds
/// would take 600 MB of memory.
struct NDJSONLines: Sequence, IteratorProtocol {
    private let bytes: [UInt8]
    private var index = 0
    private var number = 0

    /// - Parameter bytes: lines that end with LF or CR LF; the last one may end without.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func next() -> (number: Int, text: ArraySlice<UInt8>)? {
        while index < bytes.count {
            let start = index
            var isBlank = true
            while index < bytes.count, bytes[index] != UInt8(ascii: "\n") {
                isBlank = isBlank && [0x20, 0x09, 0x0D].contains(bytes[index])
                index += 1
            }
            let line = bytes[start..<index]
            index += 1
            number += 1
            if !isBlank { return (number, line) }
        }
        return nil
    }
}
