extension UploadFacts {
    /// Members without a value are left out.
    package var json: JSONValue {
        var members: [JSONValue.Member] = [.init("origin", .string(origin.rawValue))]
        func add(_ name: String, _ value: String?) {
            if let value { members.append(.init(name, .string(value))) }
        }
        add("metadata", metadata)
        add("fileName", fileName)
        add("contentType", contentType)
        add("route", route)
        add("token", token)
        if let digest {
            members.append(
                .init("digest", .object([.init(digest.algorithm.rawValue, .string(Hexadecimal.text(digest.bytes)))])))
        }
        add("wantedDigest", wantedDigest?.rawValue)
        switch concatenation {
        case .partial?: members.append(.init("isPartial", .bool(true)))
        case .final(let parts)?: members.append(.init("parts", .array(parts.map { .string($0.description) })))
        case nil: break
        }
        if let interopVersion { members.append(.init("interopVersion", .integer(Int64(interopVersion)))) }
        add("tokenName", tokenName)
        if let grant {
            add("maker", grant.maker)
            if let bytes = grant.maxBytes { members.append(.init("maxBytes", .integer(bytes))) }
        }
        if let siteMetadata {
            let values = siteMetadata.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .string($0.value)) }
            members.append(.init("siteMetadata", .object(values)))
        }
        add("uniqueKey", uniqueKey)
        return .object(members)
    }

    /// Reads ``json`` back. Nil for anything else. Unknown members are left out.
    package init?(_ value: JSONValue) {
        guard let origin = value["origin"]?.string.flatMap({ UploadProtocol(rawValue: $0) }) else { return nil }
        self.init(origin: origin)
        metadata = value["metadata"]?.string
        fileName = value["fileName"]?.string
        contentType = value["contentType"]?.string
        route = value["route"]?.string
        token = value["token"]?.string
        if let member = value["digest"]?.members?.first {
            guard let algorithm = UploadDigest.Algorithm(rawValue: member.name),
                let bytes = member.value.string.flatMap({ Hexadecimal.bytes($0) }),
                let digest = UploadDigest(algorithm, bytes)
            else { return nil }
            self.digest = digest
        }
        wantedDigest = value["wantedDigest"]?.string.flatMap { UploadDigest.Algorithm(rawValue: $0) }
        if value["isPartial"]?.bool == true { concatenation = .partial }
        if let parts = value["parts"]?.elements {
            let ids = parts.compactMap { $0.string.flatMap { CommandID($0) } }
            guard ids.count == parts.count else { return nil }
            concatenation = .final(ids)
        }
        interopVersion = value["interopVersion"]?.integer.map { Int($0) }
        tokenName = value["tokenName"]?.string
        grant = value["maker"]?.string.map { Grant(maker: $0, maxBytes: value["maxBytes"]?.integer) }
        if let members = value["siteMetadata"]?.members {
            siteMetadata = Dictionary(members.map { ($0.name, $0.value.string ?? "") }) { first, _ in first }
        }
        uniqueKey = value["uniqueKey"]?.string
    }
}
