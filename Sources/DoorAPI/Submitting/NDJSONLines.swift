/// The lines of a bulk that are not blank, with their numbers from 1 on. It makes no list of them: 16 MiB of line feeds would
/// take 600 MB of memory.
struct NDJSONLines: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>
    private var number = 0

    /// - Parameter bytes: lines that end with LF or CR LF; the last one may end without.
    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func next() -> (number: Int, text: ArraySlice<UInt8>)? {
        while !rest.isEmpty {
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            let line = rest[..<end]
            rest = rest[end...].dropFirst()
            number += 1
            if !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return (number, line) }
        }
        return nil
    }
}
