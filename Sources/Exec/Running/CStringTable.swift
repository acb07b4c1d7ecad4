/// Texts as C has them: a table of pointers that ends with a null pointer.
final class CStringTable {
    let pointers: UnsafeMutablePointer<UnsafePointer<CChar>?>
    private let text: UnsafeMutablePointer<CChar>

    /// - Returns: nil where a text contains a zero byte, which would end it there.
    init?(_ texts: [String]) {
        guard !texts.contains(where: { $0.utf8.contains(0) }) else { return nil }
        text = .allocate(capacity: texts.reduce(1) { $0 + $1.utf8.count + 1 })
        pointers = .allocate(capacity: texts.count + 1)
        var end = text
        for (index, string) in texts.enumerated() {
            pointers[index] = UnsafePointer(end)
            for byte in string.utf8 {
                end.pointee = CChar(bitPattern: byte)
                end += 1
            }
            end.pointee = 0
            end += 1
        }
        pointers[texts.count] = nil
    }

    deinit {
        text.deallocate()
        pointers.deallocate()
    }
}
