extension OpenAPIDocument {
    static let tokenPaths = """
          /tokens:
            get:
              operationId: listTokens
              tags: [tokens]
              summary: The upload tokens that the token has made, the newest first
              description: Those that have ended are listed for an hour.
              security: [{token: [grant]}]
              responses:
                '200':
                  description: The tokens
                  content:
                    application/json:
                      schema:
                        type: object
                        required: [tokens]
                        properties: {tokens: {type: array, items: {$ref: '#/components/schemas/UploadToken'}}}
                default: {$ref: '#/components/responses/Problem'}
            post:
              operationId: makeToken
              tags: [tokens]
              summary: Make a token that sends uploads, for a browser or a device
              description: >-
                It has the scope upload only, and never more routes, bytes or time than its maker, which needs the scope upload
                too. It ends with its maker, and survives the maker's rotation. Its uploads count towards the shares of the
                maker. The secret is in this response only.
              security: [{token: [grant]}]
              requestBody:
                content:
                  application/json:
                    schema: {$ref: '#/components/schemas/NewUploadToken'}
                    example: {expires: 30m, maxBytes: 5000000000}
              responses:
                '201':
                  description: The token with its secret
                  headers:
                    Location: {description: 'The token, without its secret', schema: {type: string}}
                    Cache-Control: {description: Always no-store, schema: {type: string}}
                  content:
                    application/json:
                      schema:
                        allOf:
                          - {$ref: '#/components/schemas/UploadToken'}
                          - type: object
                            required: [token]
                            properties: {token: {type: string, description: 'The secret, slu_…'}}
                default: {$ref: '#/components/responses/Problem'}
          /tokens/{name}:
            get:
              operationId: showUploadToken
              tags: [tokens]
              summary: An upload token that the token has made
              security: [{token: [grant]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              responses:
                '200':
                  description: The token
                  content: {application/json: {schema: {$ref: '#/components/schemas/UploadToken'}}}
                default: {$ref: '#/components/responses/Problem'}
            delete:
              operationId: revokeToken
              tags: [tokens]
              summary: Revoke an upload token, within a second
              security: [{token: [grant]}]
              parameters: [{$ref: '#/components/parameters/name'}]
              responses:
                '204': {description: It is revoked}
                default: {$ref: '#/components/responses/Problem'}
        """

    static let tokenSchemas = """
            NewUploadToken:
              type: object
              additionalProperties: false
              properties:
                name:
                  type: [string, 'null']
                  pattern: '^[A-Za-z0-9._-]{1,64}$'
                  description: >-
                    Unique among the usable ones of the maker; its id where it is missing. A later one of the name goes on with
                    the uploads of the earlier one.
                routes:
                  type: [array, 'null']
                  minItems: 1
                  items: {type: string}
                  description: Those of the maker where they are missing
                maxBytes:
                  type: [integer, 'null']
                  minimum: 1
                  description: The bytes that its uploads may have in the spool at a time
                expires:
                  type: [string, 'null']
                  description: >-
                    A duration such as 30m, or a time (RFC 3339), of one day at most; an hour where it is missing. It ends before
                    where the maker does
            UploadToken:
              type: object
              required: [id, name, scopes, routes, maxBytes, maker, created, expires, lastUsed, revoked, state]
              properties:
                id: {type: string}
                name: {type: string}
                scopes: {type: array, items: {type: string}}
                routes: {type: [array, 'null'], items: {type: string}}
                types: {type: [array, 'null'], items: {type: string}}
                destinations: {type: [array, 'null'], items: {type: string}}
                maxBytes: {type: [integer, 'null']}
                maker: {type: [string, 'null'], description: The name of the token that has made it}
                created: {type: string, format: date-time}
                expires: {type: [string, 'null'], format: date-time}
                lastUsed: {type: [string, 'null'], format: date-time}
                revoked: {type: [string, 'null'], format: date-time}
                state: {type: string, enum: [usable, expired, revoked]}
        """
}
