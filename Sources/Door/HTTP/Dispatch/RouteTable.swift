/// Finds the endpoint of a path. A constant part of an endpoint's path has precedence over one in braces.
package struct RouteTable: Sendable {
    private enum Part: Sendable {
        case constant(String)
        case parameter(String)

        var isParameter: Bool { if case .parameter = self { true } else { false } }
    }

    private var routes: [(parts: [Part], endpoint: Endpoint)] = []

    /// - Parameter endpoints: of two with the same path, the first counts, with the methods that only the second has.
    package init(_ endpoints: [Endpoint]) {
        var indices: [String: Int] = [:]
        for endpoint in endpoints {
            if let index = indices[endpoint.path] {
                routes[index].endpoint.methods.merge(endpoint.methods) { first, _ in first }
            } else {
                indices[endpoint.path] = routes.count
                routes.append((Self.parts(of: endpoint.path), endpoint))
            }
        }
        // A stable order: of two endpoints, the one with the constant at the first difference comes first.
        let order = routes.indices.sorted { left, right in
            let pairs = zip(routes[left].parts, routes[right].parts)
            if let (_, other) = pairs.first(where: { $0.isParameter != $1.isParameter }) { return other.isParameter }
            return left < right
        }
        routes = order.map { [routes] in routes[$0] }
    }

    /// - Parameter path: decoded parts. An empty one matches no braces.
    package func match(_ path: [String]) -> (endpoint: Endpoint, parameters: [String: String])? {
        for (parts, endpoint) in routes where parts.count == path.count {
            if let parameters = Self.parameters(of: parts, in: path) { return (endpoint, parameters) }
        }
        return nil
    }

    private static func parameters(of parts: [Part], in path: [String]) -> [String: String]? {
        var parameters: [String: String] = [:]
        for (part, text) in zip(parts, path) {
            switch part {
            case .constant(let constant): guard constant == text else { return nil }
            case .parameter(let name):
                guard !text.isEmpty else { return nil }
                parameters[name] = text
            }
        }
        return parameters
    }

    private static func parts(of path: String) -> [Part] {
        path.split(separator: "/").map { part in
            let isParameter = part.first == "{" && part.last == "}"
            return isParameter ? .parameter(String(part.dropFirst().dropLast())) : .constant(String(part))
        }
    }
}
