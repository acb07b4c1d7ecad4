import Foundation
import TestSupport
import Testing

/// A real proxy with a configuration of deploy/proxies, on a free port of 127.0.0.1 with TLS.
struct ReverseProxy: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case nginx, haproxy, caddy

        static var areInstalled: Bool { allCases.allSatisfy { program($0.rawValue) != nil } }

        /// The name of its file in deploy/proxies.
        var file: String {
            switch self {
            case .nginx: "nginx.conf"
            case .haproxy: "haproxy.cfg"
            case .caddy: "Caddyfile"
            }
        }
    }

    let port: Int
    /// The certificate that clients have to trust.
    let certificate: String
    let process: ChildProcess

    var url: String { "https://localhost:\(port)/sluice" }

    /// - Parameters:
    ///   - port: of the proxy.
    ///   - door: the port of the door.
    init(_ kind: Kind, _ installation: Installation, port: Int, door: Int) async throws {
        let identity = TestIdentity.selfSigned
        let directory = installation.directory
        certificate = try directory.file("proxy.pem", Array(identity.certificate.utf8))
        let key = try directory.file("proxy.key", Array(identity.key.utf8))
        let both = try directory.file("proxy-and-key.pem", Array((identity.certificate + "\n" + identity.key).utf8))
        let shipped = try String(
            contentsOf: URL(fileURLWithPath: "\(Installation.repository)/deploy/proxies/\(kind.file)"), encoding: .utf8)
        var text = try Self.replace("127.0.0.1:7411", "127.0.0.1:\(door)", in: shipped)
        switch kind {
        case .nginx:
            text = try Self.replace("listen 443 ssl", "listen 127.0.0.1:\(port) ssl", in: text)
            text = try Self.replace("/etc/letsencrypt/live/example.com/fullchain.pem", certificate, in: text)
            text = try Self.replace("/etc/letsencrypt/live/example.com/privkey.pem", key, in: text)
            text = Self.nginx(server: text, base: directory.path)
        case .haproxy:
            text = try Self.replace("bind :443", "bind 127.0.0.1:\(port)", in: text)
            text = try Self.replace("/etc/haproxy/example.com.pem", both, in: text)
        case .caddy:
            text = try Self.replace(
                "\nexample.com {", "\nhttps://localhost:\(port) {\n\tbind 127.0.0.1\n\ttls \(certificate) \(key)",
                in: text)
            text =
                "{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system \(directory.path)/caddy\n}\n"
                + text
        }
        let file = try directory.file(kind.file, Array(text.utf8))
        self.port = port
        process = try installation.start(
            program: #require(program(kind.rawValue)), kind.arguments(file, directory.path))
        try await until("\(kind) on port \(port)") { [process] in
            if let ending = process.ending { throw Missed("\(kind) ended with \(ending): \(process.errors)") }
            return isListening(port)
        }
    }

    private static func replace(_ old: String, _ new: String, in text: String) throws -> String {
        guard text.contains(old) else { throw Missed("the configuration has no “\(old)” any more") }
        return text.replacingOccurrences(of: old, with: new)
    }

    private static func nginx(server: String, base: String) -> String {
        """
        \(geteuid() == 0 ? "user root;" : "")
        daemon off;
        pid \(base)/nginx.pid;
        error_log stderr warn;
        events { worker_connections 256; }
        http {
            access_log off;
            client_body_temp_path \(base)/nginx-body;
            proxy_temp_path \(base)/nginx-proxy;
            fastcgi_temp_path \(base)/nginx-fastcgi;
            uwsgi_temp_path \(base)/nginx-uwsgi;
            scgi_temp_path \(base)/nginx-scgi;
        \(server)
        }
        """
    }
}

extension ReverseProxy.Kind {
    fileprivate func arguments(_ file: String, _ base: String) -> [String] {
        switch self {
        case .nginx: ["-p", base, "-e", "\(base)/nginx.log", "-c", file]
        case .haproxy: ["-db", "-f", file]
        case .caddy: ["run", "--adapter", "caddyfile", "--config", file]
        }
    }
}
