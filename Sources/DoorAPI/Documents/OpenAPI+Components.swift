extension OpenAPIDocument {
    static let components = componentParts + "\n" + schemas + "\n" + tokenSchemas

    private static let componentParts = """
        components:
          securitySchemes:
            token:
              type: http
              scheme: bearer
              description: >-
                A token of `sluice token create`. The roles of an operation are scopes; the token needs any of them.
          parameters:
            id: {name: id, in: path, required: true, schema: {$ref: '#/components/schemas/ID'}}
            name: {name: name, in: path, required: true, schema: {type: string, pattern: '^[A-Za-z0-9._-]{1,64}$'}}
            destination:
              name: destination
              in: path
              required: true
              description: >-
                The origin of the link: without slashes, as `https:media.example.com:443`, or percent-encoded, as
                `https%3A%2F%2Fmedia.example.com`. The port may be left out where it is that of the scheme.
              schema: {type: string, pattern: '^[a-z]+:(//)?([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]+)?$'}
            limit: {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 1000}}
            cursor: {name: cursor, in: query, description: '`next` of the page before', schema: {type: string}}
            ifMatch:
              name: If-Match
              in: header
              description: The ETag of the command; where it has changed, nothing is done, and the response is 412
              schema: {type: string}
            idempotencyKey:
              name: Idempotency-Key
              in: header
              description: >-
                A string of 1 to 255 bytes in quotes, which belongs to the token. A request with the same bytes again gets the
                same command, for as long as that is kept; one with other bytes gets 422, and 409 while the first one runs.
              schema: {type: string}
          headers:
            Link: {description: 'The next page, as rel="next"', schema: {type: string}}
            ETag: {description: 'Shard and number of the newest transition, and a digest', schema: {type: string}}
          requestBodies:
            Pause:
              content:
                application/json:
                  schema:
                    type: object
                    additionalProperties: false
                    properties:
                      qos: {$ref: '#/components/schemas/QualityOfService'}
                      destination: {type: string}
                      all: {type: boolean, description: 'True, and alone: everything, or every pause'}
                  example: {qos: background, destination: 'https://media.example.com'}
          responses:
            Problem:
              description: A problem document (RFC 9457)
              content: {application/problem+json: {schema: {$ref: '#/components/schemas/Problem'}}}
            Object:
              description: An object
              content: {application/json: {schema: {type: object}}}
            Command:
              description: The command
              headers: {ETag: {$ref: '#/components/headers/ETag'}}
              content: {application/json: {schema: {$ref: '#/components/schemas/CommandDetails'}}}
            Flow:
              description: The flow
              content:
                application/json:
                  schema:
                    type: object
                    required: [id, existing, name, nodes]
                    properties:
                      id: {$ref: '#/components/schemas/ID'}
                      existing: {type: boolean}
                      name: {type: string}
                      nodes: {type: integer}
            Pauses:
              description: The pauses
              content:
                application/json:
                  schema:
                    type: object
                    required: [pauses]
                    properties:
                      pauses:
                        type: array
                        items:
                          type: object
                          required: [qos, destination, since]
                          properties:
                            qos: {type: [string, 'null'], description: 'Null: commands of every quality of service'}
                            destination: {type: [string, 'null'], description: 'Null: commands to every destination'}
                            since: {type: string, format: date-time}
        """
}
