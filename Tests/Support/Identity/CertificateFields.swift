internal import Glibc

/// The fields of a certificate (RFC 5280, section 4.1).
struct CertificateFields {
    var subject: String
    var issuer: String
    /// The names and IPv4 addresses of the subject.
    var hosts: [String]
    var validity: TestAuthority.Validity
    var isAuthority: Bool

    /// The algorithm ecdsa-with-SHA256.
    static let algorithm = DER.sequence([DER.identifier([1, 2, 840, 10045, 4, 3, 2])])

    /// The part of a certificate that is signed.
    /// - Parameter publicKey: a SubjectPublicKeyInfo.
    func encoded(publicKey: [UInt8]) -> [UInt8] {
        let times = DER.sequence([Self.time(validity.from), Self.time(validity.until)])
        let serial = (0..<8).map { _ in UInt8.random(in: 1...0x7F) }
        return DER.sequence([
            DER.explicit(0, DER.integer([2])), DER.integer(serial), Self.algorithm, Self.name(issuer), times,
            Self.name(subject), publicKey, DER.explicit(3, DER.sequence(extensions)),
        ])
    }

    private var extensions: [[UInt8]] {
        var list: [[UInt8]] = []
        if !hosts.isEmpty {
            let names = hosts.map { host in
                let octets = host.split(separator: ".").compactMap { UInt8($0) }
                return octets.count == 4 ? DER.tagged(0x87, octets) : DER.tagged(0x82, Array(host.utf8))
            }
            // subjectAltName
            list.append(
                DER.sequence([DER.identifier([2, 5, 29, 17]), DER.octetString(DER.sequence(names))]))
        }
        // basicConstraints, critical
        let constraints = DER.sequence(isAuthority ? [DER.true] : [])
        list.append(DER.sequence([DER.identifier([2, 5, 29, 19]), DER.true, DER.octetString(constraints)]))
        return list
    }

    /// A name with a common name only.
    private static func name(_ text: String) -> [UInt8] {
        DER.sequence([DER.set(DER.sequence([DER.identifier([2, 5, 4, 3]), DER.tagged(0x0C, Array(text.utf8))]))])
    }

    /// UTCTime up to 2049, GeneralizedTime from 2050 on (RFC 5280, section 4.1.2.5).
    private static func time(_ seconds: Int64) -> [UInt8] {
        var moment = time_t(seconds)
        var parts = tm()
        gmtime_r(&moment, &parts)
        var digits = [CChar](repeating: 0, count: 32)
        let isShort = parts.tm_year < 150
        let count = strftime(&digits, digits.count, isShort ? "%y%m%d%H%M%SZ" : "%Y%m%d%H%M%SZ", &parts)
        return DER.tagged(isShort ? 0x17 : 0x18, digits.prefix(count).map { UInt8(bitPattern: $0) })
    }
}
