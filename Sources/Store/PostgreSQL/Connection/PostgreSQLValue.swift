internal import Commands

/// The OIDs of the built-in types that a store uses (`pg_type.dat` of PostgreSQL). They never change.
enum PostgreSQLType: UInt32, Sendable {
    case bool = 16
    case bytea = 17
    case name = 19
    case int8 = 20
    case int2 = 21
    case int4 = 23
    case text = 25
    case float8 = 701
    case varchar = 1043
    case uuid = 2950
    case boolArray = 1000
    case byteaArray = 1001
    case int2Array = 1005
    case int4Array = 1007
    case textArray = 1009
    case int8Array = 1016
    case float8Array = 1022
    case uuidArray = 2951
}

/// A value that is a parameter of a statement, or a column of its result, in PostgreSQL's binary form: numbers big-endian,
/// text in UTF-8 (`src/backend/utils/adt`, the functions `*_recv` and `*_send`).
protocol PostgreSQLValue: Sendable {
    static var postgreSQLType: PostgreSQLType { get }
    /// Whether a column of this type can be read as this value.
    static func canDecode(_ type: PostgreSQLType) -> Bool
    /// Appends the value.
    /// - Returns: false for NULL, which has no bytes.
    func encode(to bytes: inout [UInt8]) -> Bool
    /// - Parameter bytes: nil for NULL.
    /// - Returns: nil where the bytes are not such a value, or NULL is none.
    static func decode(_ bytes: UnsafeRawBufferPointer?) -> Self?
}

extension PostgreSQLValue {
    static func canDecode(_ type: PostgreSQLType) -> Bool { type == postgreSQLType }
}

// MARK: Numbers

/// An integer of PostgreSQL. A column is read as any type that is as wide or wider.
protocol PostgreSQLInteger: PostgreSQLValue, FixedWidthInteger {}

extension PostgreSQLInteger {
    func encode(to bytes: inout [UInt8]) -> Bool {
        withUnsafeBytes(of: bigEndian) { bytes.append(contentsOf: $0) }
        return true
    }

    static func canDecode(_ type: PostgreSQLType) -> Bool {
        switch type {
        case .int2: true
        case .int4: bitWidth >= 32
        case .int8: bitWidth >= 64
        default: false
        }
    }

    static func decode(_ bytes: UnsafeRawBufferPointer?) -> Self? {
        guard let bytes else { return nil }
        switch bytes.count {
        case 2: return Self(exactly: Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
        case 4: return Self(exactly: Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
        case 8: return Self(exactly: Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
        default: return nil
        }
    }
}

extension Int16: PostgreSQLInteger { static var postgreSQLType: PostgreSQLType { .int2 } }
extension Int32: PostgreSQLInteger { static var postgreSQLType: PostgreSQLType { .int4 } }
extension Int64: PostgreSQLInteger { static var postgreSQLType: PostgreSQLType { .int8 } }
extension Int: PostgreSQLInteger { static var postgreSQLType: PostgreSQLType { .int8 } }

extension Bool: PostgreSQLValue {
    static var postgreSQLType: PostgreSQLType { .bool }

    func encode(to bytes: inout [UInt8]) -> Bool {
        bytes.append(self ? 1 : 0)
        return true
    }

    static func decode(_ bytes: UnsafeRawBufferPointer?) -> Bool? {
        guard let bytes, bytes.count == 1 else { return nil }
        return bytes[0] != 0
    }
}

extension Double: PostgreSQLValue {
    static var postgreSQLType: PostgreSQLType { .float8 }

    func encode(to bytes: inout [UInt8]) -> Bool {
        withUnsafeBytes(of: bitPattern.bigEndian) { bytes.append(contentsOf: $0) }
        return true
    }

    static func decode(_ bytes: UnsafeRawBufferPointer?) -> Double? {
        guard let bytes, bytes.count == 8 else { return nil }
        return Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
    }
}

/// Milliseconds since 1970, as `int8`.
extension Timestamp: PostgreSQLValue {
    static var postgreSQLType: PostgreSQLType { .int8 }

    func encode(to bytes: inout [UInt8]) -> Bool { milliseconds.encode(to: &bytes) }

    static func decode(_ bytes: UnsafeRawBufferPointer?) -> Timestamp? {
        Int64.decode(bytes).map { Timestamp(milliseconds: $0) }
    }
}

// MARK: Text and bytes

extension String: PostgreSQLValue {
    static var postgreSQLType: PostgreSQLType { .text }
    static func canDecode(_ type: PostgreSQLType) -> Bool { [.text, .varchar, .name].contains(type) }

    /// The server refuses a text with NUL by SQLSTATE 22021.
    func encode(to bytes: inout [UInt8]) -> Bool {
        bytes.append(contentsOf: utf8)
        return true
    }

    static func decode(_ bytes: UnsafeRawBufferPointer?) -> String? {
        bytes.map { String(decoding: $0, as: UTF8.self) }
    }
}

extension CommandID: PostgreSQLValue {
    static var postgreSQLType: PostgreSQLType { .uuid }

    func encode(to bytes: inout [UInt8]) -> Bool {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { bytes.append(contentsOf: $0) }
        return true
    }

    static func decode(_ bytes: UnsafeRawBufferPointer?) -> CommandID? {
        guard let bytes, bytes.count == 16 else { return nil }
        return CommandID(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
}

extension Optional: PostgreSQLValue where Wrapped: PostgreSQLValue {
    static var postgreSQLType: PostgreSQLType { Wrapped.postgreSQLType }
    static func canDecode(_ type: PostgreSQLType) -> Bool { Wrapped.canDecode(type) }

    func encode(to bytes: inout [UInt8]) -> Bool { self?.encode(to: &bytes) ?? false }

    static func decode(_ bytes: UnsafeRawBufferPointer?) -> Wrapped?? {
        guard let bytes else { return .some(nil) }
        return Wrapped.decode(bytes).map { .some($0) }
    }
}

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
