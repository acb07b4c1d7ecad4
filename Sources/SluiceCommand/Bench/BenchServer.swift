internal import Commands
internal import Console
internal import Glibc
internal import Store

/// An nginx with WebDAV for a bench, on a free loopback port.
struct BenchServer {
    let url: String
    /// `nginx 1.22.1`
    let version: String
    private let folder: String
    private let process: BenchProcess

    init(workspace: BenchWorkspace) throws {
        guard let nginx = UploadBench.find("nginx") else {
            throw ExitError(.unavailable, "nginx is not installed: apt install nginx-full libnginx-mod-http-dav-ext")
        }
        version = UploadBench.version(of: nginx, "-v", in: workspace)
        let port = try Self.freePort()
        folder = "\(workspace.path)/www"
        for path in [folder, "\(workspace.path)/nginx"] { mkdir(path, 0o700) }
        let root = "\(workspace.path)/nginx"
        // rclone sends PROPFIND, which nginx answers with this module (Debian: libnginx-mod-http-dav-ext).
        let module = "/usr/lib/nginx/modules/ngx_http_dav_ext_module.so"
        let hasModule = access(module, R_OK) == 0
        // As the user of the bench: no other user may read the temporary directory.
        try SmallFile.write(
            """
            \(hasModule ? "load_module \(module);" : "")
            \(geteuid() == 0 ? "user root;" : "")
            daemon off; worker_processes 2; pid \(root)/pid; error_log \(root)/error.log;
            events { worker_connections 4096; }
            http {
              access_log off; client_max_body_size 0; client_body_buffer_size 128k;
              client_body_temp_path \(folder)/.body; proxy_temp_path \(root)/proxy; fastcgi_temp_path \(root)/fastcgi;
              uwsgi_temp_path \(root)/uwsgi; scgi_temp_path \(root)/scgi;
              server {
                listen 127.0.0.1:\(port) backlog=4096; root \(folder);
                location / {
                  dav_methods PUT DELETE MKCOL COPY MOVE; create_full_put_path on;
                  \(hasModule ? "dav_ext_methods PROPFIND OPTIONS;" : "")
                }
              }
            }

            """, to: "\(root)/conf")
        process = try workspace.start(["-c", "\(root)/conf", "-e", "\(root)/error.log"], executable: nginx)
        url = "http://127.0.0.1:\(port)/"
        try BenchClock.wait("nginx", seconds: 10) { Self.answers(port) }
    }

    func stop() {
        process.kill(SIGTERM)
        process.wait()
    }

    /// Deletes the uploaded files.
    func empty() {
        guard let listing = opendir(folder) else { return }
        defer { closedir(listing) }
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix(".") { unlink("\(folder)/\(name)") }
        }
    }

    static func freePort() throws -> UInt16 {
        for _ in 0..<100 {
            let port = UInt16.random(in: 20_000..<32_000)
            if !answers(port) { return port }
        }
        throw ExitError(.internalError, "no free port was found on loopback")
    }

    private static func answers(_ port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
