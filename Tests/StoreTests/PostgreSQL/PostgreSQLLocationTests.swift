import Commands
import TestSupport
import Testing

@testable import Store

@Suite struct PostgreSQLLocationTests {
    @Test func `a URL has hosts, ports, a user, a password, a database and parameters`() throws {
        let location = try PostgreSQLLocation(
            "postgresql://sl%75ice:p%40ss%2Fw@db1,db2:5433,[fe80::1%eth0]:1/qu%C3%A4ue?sslmode=verify-full&application_name=a%20b"
        )
        #expect(
            location.hosts == [
                .init(name: "db1"), .init(name: "db2", port: 5433), .init(name: "fe80::1%eth0", port: 1),
            ])
        #expect(location.user == "sluice")
        #expect(location.password == "p@ss/w")
        #expect(location.database == "quäue")
        #expect(location["sslmode"] == "verify-full")
        #expect(location["application_name"] == "a b")
        #expect(
            "\(location)"
                == "postgres://sluice@db1,db2:5433,[fe80::1%eth0]:1/qu%c3%a4ue?sslmode=verify-full&application_name=a%20b"
        )
    }

    @Test(arguments: ["postgres://", "postgres:///", "postgresql://?", "postgres:///?"])
    func `a URL without parts leaves everything to libpq`(url: String) throws {
        let location = try PostgreSQLLocation(url)
        #expect(location.hosts.isEmpty && location.parameters.isEmpty)
        #expect(location.user == nil && location.password == nil && location.database == nil)
        #expect("\(location)" == "postgres://")
    }

    @Test func `parameters name hosts, ports, user, password and database`() throws {
        let location = try PostgreSQLLocation(
            "postgres:///?host=%2Ftmp%2Fa,b&port=1,2&user=u&password=p&dbname=d&ssl=true")
        #expect(location.hosts == [.init(name: "/tmp/a", port: 1), .init(name: "b", port: 2)])
        #expect(location.hosts[0].isSocket && !location.hosts[1].isSocket)
        #expect(location.user == "u" && location.password == "p" && location.database == "d")
        #expect(location["sslmode"] == "require")
        #expect("\(location)" == "postgres://u@%2ftmp%2fa:1,b:2/d?sslmode=require")
        let one = try PostgreSQLLocation("postgres://a,b,c/?port=7")
        #expect(one.hosts.map(\.port) == [7, 7, 7])
        #expect(try PostgreSQLLocation("postgres:///d?port=7")["port"] == "7")
    }

    @Test func `a question mark in a password needs no encoding`() throws {
        let location = try PostgreSQLLocation("postgres://u:a?b=c@h/d")
        #expect(location.password == "a?b=c" && location.hosts == [.init(name: "h")])
    }

    @Test func `an empty port, user or password counts as not given`() throws {
        let location = try PostgreSQLLocation("postgres://:@h:/")
        #expect(location.hosts == [.init(name: "h")])
        #expect(location.user == nil && location.password == nil && location.database == nil)
    }

    @Test(arguments: [
        "", "db", "postgres:", "POSTGRES://h", "http://h/", "host=h password=secret9",
        "postgres://u:secret9/db", "postgres://h:secret9", "postgres://h:0", "postgres://h:65536", "postgres://h:-1",
        "postgres://h:1:2", "postgres://u:sec@ret9@h/d", "postgres://a,,b", "postgres://a%2Cb", "postgres://,",
        "postgres://[::1", "postgres://[]",
        "postgres://[::1]x", "postgres://[secret9]:1x", "postgres://h/d%", "postgres://h/d%4", "postgres://h/%zz",
        "postgres://h/%00", "postgres://h/\0", "postgres://h/%ff", "postgres://u:secret9%@h", "postgres://h/?secret9",
        "postgres://h/?=secret9", "postgres://h/?host=b", "postgres://h:1/?port=2", "postgres://a,b/?port=1,2,3",
        "postgres://h/?port=x", "postgres:///?host=a,,b", "postgres://h/?a=1&a=2",
        "postgres://h/?client_encoding=LATIN1",
        "postgres://h/?replication=database", "postgres://h/?target_session_attrs=standby",
        "postgres://h/?sslmode=secret9",
        "postgres://h/?connect_timeout=secret9", "postgres://a,b/?hostaddr=127.0.0.1",
    ])
    func `a malformed URL is refused with a sentence that shows no part of it`(url: String) throws {
        let error = try #require(throws: StoreError.self) { try PostgreSQLLocation(url) }
        #expect(error.code == .invalid)
        #expect(
            error.message.hasPrefix("The URL of the PostgreSQL store is malformed: ") && error.message.hasSuffix("."))
        #expect(!error.message.contains("secret9") && !error.message.contains("ret9"))
    }

    @Test func `no text of a location shows a password`() throws {
        let location = try PostgreSQLLocation("postgres://u:secret9@h/d?sslpassword=secret8&sslkey=k")
        struct Owner { var location: PostgreSQLLocation }
        var dumped = ""
        dump(Owner(location: location), to: &dumped)
        let texts = [
            "\(location)", String(reflecting: location), "\(Owner(location: location))", "\([location])", dumped,
        ]
        for text in texts { #expect(!text.contains("secret"), "\(text)") }
        #expect("\(location)" == "postgres://u@h/d?sslkey=k")
        #expect(location.secrets == ["secret9", "secret8"])
    }

    @Test func `the description of a location without a password is the same location`() throws {
        var random = SeededRandom.announced("descriptions of locations")
        let characters = Array("ab%@/:?&= ,[]\"'äö#+~._-")
        func text() -> String {
            String((0..<random.number(in: 1..<8)).map { _ in characters[random.number(in: 0..<characters.count)] })
        }
        for _ in RandomRounds("descriptions of locations", 200...5_000) {
            var location = try PostgreSQLLocation("postgres://")
            for _ in 0..<random.number(in: 0..<4) {
                let name = (random.chance(0.3) ? "/" : "") + text().filter { $0 != "," }
                guard !name.isEmpty else { continue }
                location.hosts.append(.init(name: name, port: random.chance(0.5) ? random.number(in: 1..<65_536) : nil))
            }
            if random.chance(0.5) { location.user = text() }
            if random.chance(0.5) { location.database = text() }
            if random.chance(0.5) { location.parameters.append(.init(name: "options", value: text())) }
            #expect(try PostgreSQLLocation("\(location)") == location)
        }
    }

    @Test func `a host has two seconds unless connect_timeout says more`() throws {
        func timeout(_ query: String) throws -> Duration? {
            try PostgreSQLLocation("postgres://h/\(query)").hostTimeout
        }
        #expect(try timeout("") == .seconds(2))
        #expect(try timeout("?connect_timeout=1") == .seconds(2))
        #expect(try timeout("?connect_timeout=9") == .seconds(9))
        #expect(try timeout("?connect_timeout=0") == nil)
        #expect(try timeout("?connect_timeout=-1") == nil)
    }
}
