/** oidc-provider, the certified one, on its own loopback address, because cookies ignore ports. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The used part of the package, which has no type declarations. */
interface Package {
  readonly default: new (issuer: string, configuration: object) => { callback(): RequestListener }
}

export interface RealProvider {
  readonly issuer: string
  /** Registers the client of this application, and signs with a key of this name. */
  serve(app: string, name: string, kid: string): Promise<void>
  close(): Promise<void>
}

export async function startProvider(host: string): Promise<RealProvider> {
  let listener: RequestListener = (_request, response) => response.writeHead(503).end()
  const server = createServer((request, response) => {
    listener(request, response)
  })
  server.listen(0, host)
  await once(server, 'listening')
  const issuer = `http://${host}:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    serve: async (app, name, kid) => {
      const packageName = 'oidc-provider'
      const { default: Provider } = (await import(packageName)) as Package
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
      const key = { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }
      const provider = new Provider(issuer, {
        clients: [
          {
            client_id: 'desk',
            client_secret: 'a-secret-that-nobody-guesses',
            redirect_uris: [`${app}/signin/${name}/callback`],
            post_logout_redirect_uris: [`${app}/`],
          },
        ],
        jwks: { keys: [key] },
        cookies: { keys: ['one'] },
        claims: { openid: ['sub'], email: ['email', 'email_verified'] },
        findAccount: (_context: unknown, id: string) => ({
          accountId: id,
          claims: () => ({ sub: id, email: `${id}@example.com`, email_verified: true }),
        }),
      })
      listener = provider.callback()
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
