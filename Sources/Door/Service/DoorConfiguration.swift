internal import HTTPClient
package import Settings
package import Transfers
package import UploadSpool

/// The section `door` of the configuration.
package struct DoorConfiguration: Sendable, Equatable {
    /// `door.listen`: HOST:PORT; nil, the default: `sluice up` runs no door.
    package var listen: ListenAddress?
    /// `door.publicURL`: the URL under which clients reach the door, where a proxy is before it; nil: as they ask.
    package var publicURL: String?
    /// `door.hosts`: further names that clients may use.
    package var hosts: [String] = []
    /// `door.trustedProxies`: addresses whose `Forwarded` fields are believed.
    package var trustedProxies: [String] = []
    /// `door.basePath`: the path before all others, such as `/sluice`. The default is none.
    package var basePath = ""
    /// `door.interimResponses`: whether 104 is sent to clients that understand it. The default is true; nginx up to
    /// 1.22 does not survive one from a server behind it.
    package var sendsInterimResponses = true
    /// `door.certificate` and `door.key`: files in PEM form; nil: plain HTTP.
    package var certificate: CertificateFiles?
    /// `door.maxUploadSize`, `door.uploadQuota`, `door.minFreeSpace`, `door.uploadMaxAge`, `door.tokenQuota`,
    /// `door.tokenUploads`, `door.tokenCreations`.
    package var limits = UploadLimits()
    /// `door.uploadHook`: the URL that is asked before an upload is created (``UploadHook``); nil: none is.
    package var uploadHook: ResourceURL?
    /// The section `door.submit`.
    package var submit = SubmitAllowance()

    package init() {}

    /// - Throws: ``SettingsError`` that names the key.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        listen = try reader.value(
            ["door", "listen"], takes: "an address such as 127.0.0.1:7411", parse: { ListenAddress($0) })
        publicURL = try reader.value(
            ["door", "publicURL"], takes: "a URL such as https://example.com/sluice",
            parse: { text in
                text.hasPrefix("https://") || text.hasPrefix("http://") ? String(text.trimmingSuffix("/")) : nil
            })
        hosts = try reader.list(["door", "hosts"])
        if let host = hosts.first(where: { IPNetwork($0)?.isAddress != true && HostName($0)?.name != $0.lowercased() })
        {
            throw SettingsError(
                key: "door.hosts", problem: "takes names and addresses such as files.example.com, not “\(host)”")
        }
        trustedProxies = try reader.list(["door", "trustedProxies"])
        if let proxy = trustedProxies.first(where: { $0 != "unix" && IPNetwork($0) == nil }) {
            throw SettingsError(
                key: "door.trustedProxies",
                problem: "takes addresses, networks such as 10.0.0.0/8, and unix, not “\(proxy)”")
        }
        basePath =
            try reader.value(
                ["door", "basePath"], takes: "a path such as /sluice",
                parse: { text in text.hasPrefix("/") ? String(text.trimmingSuffix("/")) : nil }) ?? ""
        try reader.read(&sendsInterimResponses, ["door", "interimResponses"])
        func file(_ name: String) throws(SettingsError) -> String? {
            try reader.value(["door", name], takes: "an absolute path", parse: { $0.hasPrefix("/") ? $0 : nil })
        }
        let chain = try file("certificate")
        let key = try file("key")
        switch (chain, key) {
        case (let chain?, let key?): certificate = CertificateFiles(chain: chain, key: key)
        case (nil, nil): break
        case (_?, nil):
            throw SettingsError(key: "door.certificate", problem: "needs door.key, the file of its private key")
        case (nil, _?):
            throw SettingsError(
                key: "door.key", problem: "needs door.certificate, the file of the certificate and its chain")
        }
        func size(_ name: String) throws(SettingsError) -> Int64? {
            try reader.value(["door", name], takes: "a size such as 20GiB", parse: { ByteCount.bytes($0) })
        }
        limits.maxSize = try size("maxUploadSize") ?? limits.maxSize
        limits.quota = try size("uploadQuota")
        limits.minFree = try size("minFreeSpace") ?? limits.minFree
        limits.tokenQuota = try size("tokenQuota")
        func count(_ name: String) throws(SettingsError) -> Int? {
            try reader.value(
                ["door", name], takes: "a number from 1 on", parse: { Int($0).flatMap { $0 > 0 ? $0 : nil } })
        }
        limits.maxTokenUploads = try count("tokenUploads") ?? limits.maxTokenUploads
        limits.maxTokenCreations = try count("tokenCreations") ?? limits.maxTokenCreations
        try reader.read(&limits.maxAge, ["door", "uploadMaxAge"])
        uploadHook = try reader.value(
            ["door", "uploadHook"], takes: "a URL such as https://example.com/uploads/new",
            parse: { text in
                (try? ResourceURL(text)).flatMap { HTTPOrigin($0.destination) == nil ? nil : $0 }
            })
        submit = try SubmitAllowance(reading: &reader)
    }
}

extension DoorConfiguration {
    /// The origin of ``publicURL``, whose pages are those of the door, whatever Host a proxy sends. Nil without one.
    package var publicOrigin: String? {
        guard let url = publicURL, let start = url.firstRange(of: "://")?.upperBound else { return nil }
        return String(url[..<start] + url[start...].prefix { $0 != "/" })
    }

    /// The URL of a door that listens at `address`, without a slash at its end.
    package func url(at address: ListenAddress) -> String {
        var address = address
        if address.host == "0.0.0.0" || address.host == "::" { address.host = "localhost" }
        return publicURL ?? "\(certificate == nil ? "http" : "https")://\(address)\(basePath)"
    }
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: Character) -> Substring {
        var rest = self[...]
        while rest.last == suffix { rest.removeLast() }
        return rest
    }
}

/// HOST:PORT; an IPv6 address stands in brackets.
package struct ListenAddress: Sendable, Hashable, CustomStringConvertible {
    package var host: String
    /// 0: any free port.
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Nil for anything else. A host may be left out: `:8080` is every address.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.contains(where: { "/[]@ \u{0}".contains($0) }) else { return nil }
        self.host = host.isEmpty ? "0.0.0.0" : String(host)
        self.port = Int(port)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
    /// Whether only this machine reaches it.
    package var isLoopback: Bool { host == "localhost" || host == "::1" || host.hasPrefix("127.") }
}
