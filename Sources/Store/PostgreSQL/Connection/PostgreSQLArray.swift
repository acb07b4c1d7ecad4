internal import Commands

/// An element of an array parameter, for `unnest`. An array of bytes is a `bytea`, every other one an array of PostgreSQL
/// with one dimension.
protocol PostgreSQLArrayElement: Sendable {
    static var postgreSQLArrayType: PostgreSQLType { get }
    static func encode(array: [Self], to bytes: inout [UInt8])
    /// - Returns: nil where the bytes are not such an array.
    static func decode(array bytes: UnsafeRawBufferPointer) -> [Self]?
}

extension Array: PostgreSQLValue where Element: PostgreSQLArrayElement {
    static var postgreSQLType: PostgreSQLType { Element.postgreSQLArrayType }

    func encode(to bytes: inout [UInt8]) -> Bool {
        Element.encode(array: self, to: &bytes)
        return true
    }

    static func decode(_ bytes: UnsafeRawBufferPointer?) -> [Element]? { bytes.flatMap { Element.decode(array: $0) } }
}

/// The form of `array_send`: dimensions, a flag for NULL, the type of the elements; then, unless it is empty, the number of
/// elements and the lower bound 1, and each element behind its length, -1 for NULL.
extension PostgreSQLArrayElement where Self: PostgreSQLValue {
    static func encode(array: [Self], to bytes: inout [UInt8]) {
        bytes.reserveCapacity(bytes.count + 20 + array.count * (4 + MemoryLayout<Self>.size))
        Int32(array.isEmpty ? 0 : 1).append(to: &bytes)
        let flag = bytes.count
        Int32(0).append(to: &bytes)
        Int32(bitPattern: postgreSQLType.rawValue).append(to: &bytes)
        if array.isEmpty { return }
        Int32(array.count).append(to: &bytes)
        Int32(1).append(to: &bytes)
        for element in array {
            let start = bytes.count
            Int32(-1).append(to: &bytes)
            guard element.encode(to: &bytes) else {
                bytes[flag + 3] = 1
                continue
            }
            let length = UInt32(bytes.count - start - 4)
            for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32(index))) }
        }
    }

    static func decode(array bytes: UnsafeRawBufferPointer) -> [Self]? {
        func number(_ offset: Int) -> Int {
            Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)))
        }
        guard bytes.count >= 12, number(8) == Int(postgreSQLType.rawValue) else { return nil }
        if number(0) == 0 { return [] }
        guard number(0) == 1, bytes.count >= 20, number(12) >= 0 else { return nil }
        var array: [Self] = []
        array.reserveCapacity(min(number(12), bytes.count / 4))
        var offset = 20
        for _ in 0..<number(12) {
            guard offset + 4 <= bytes.count else { return nil }
            let length = number(offset)
            offset += 4
            guard length <= bytes.count - offset else { return nil }
            let part = length < 0 ? nil : UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length])
            guard let element = Self.decode(part) else { return nil }
            array.append(element)
            offset += max(length, 0)
        }
        return array
    }
}

extension Int32 {
    fileprivate func append(to bytes: inout [UInt8]) {
        withUnsafeBytes(of: bigEndian) { bytes.append(contentsOf: $0) }
    }
}

extension UInt8: PostgreSQLArrayElement {
    static var postgreSQLArrayType: PostgreSQLType { .bytea }
    static func encode(array: [UInt8], to bytes: inout [UInt8]) { bytes.append(contentsOf: array) }
    static func decode(array bytes: UnsafeRawBufferPointer) -> [UInt8]? { [UInt8](bytes) }
}

extension Array: PostgreSQLArrayElement where Element == UInt8 {
    static var postgreSQLArrayType: PostgreSQLType { .byteaArray }
}

extension Bool: PostgreSQLArrayElement { static var postgreSQLArrayType: PostgreSQLType { .boolArray } }
extension Int16: PostgreSQLArrayElement { static var postgreSQLArrayType: PostgreSQLType { .int2Array } }
extension Int32: PostgreSQLArrayElement { static var postgreSQLArrayType: PostgreSQLType { .int4Array } }
extension Int64: PostgreSQLArrayElement { static var postgreSQLArrayType: PostgreSQLType { .int8Array } }
extension Int: PostgreSQLArrayElement { static var postgreSQLArrayType: PostgreSQLType { .int8Array } }
extension Double: PostgreSQLArrayElement { static var postgreSQLArrayType: PostgreSQLType { .float8Array } }
extension String: PostgreSQLArrayElement { static var postgreSQLArrayType: PostgreSQLType { .textArray } }
extension CommandID: PostgreSQLArrayElement { static var postgreSQLArrayType: PostgreSQLType { .uuidArray } }
extension Timestamp: PostgreSQLArrayElement { static var postgreSQLArrayType: PostgreSQLType { .int8Array } }

/// An element may be NULL.
extension Optional: PostgreSQLArrayElement where Wrapped: PostgreSQLArrayElement & PostgreSQLValue {
    static var postgreSQLArrayType: PostgreSQLType { Wrapped.postgreSQLArrayType }
}
