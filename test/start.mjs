/**
 * Runs once before any Jest suite: unpacks the browser, creates the signing keys of the suites (`test/auth/key-pair.ts`),
 * and provides one PostgreSQL server for all suites, which starts when the first suite requests it
 * (`test/records/postgres-server.ts`).
 */
import chromium from '@sparticuz/chromium'
import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import { tsImport } from 'tsx/esm/api'

let postgres

/** The address that suites ask for the PostgreSQL server. */
const addressServer = createServer(async (_request, response) => {
  // A keep-alive connection may end just when the next suite sends its request.
  response.setHeader('connection', 'close')
  try {
    postgres ??= tsImport('./records/postgres-server.ts', {
      parentURL: import.meta.url,
      tsconfig: 'test/tsconfig.json',
    }).then(({ startSharedPostgres }) => startSharedPostgres())
    response.end((await postgres).url)
  } catch (error) {
    response.writeHead(500).end(String(error?.stack ?? error))
  }
})

export default async function start() {
  // Concurrent suites would start a file that is still being written (`spawn ETXTBSY`).
  await chromium.executablePath()
  await new Promise((resolve) => addressServer.listen(0, '127.0.0.1', resolve))
  addressServer.unref()
  const keys = [1, 2].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)
  process.env.TEST_RSA_KEYS = JSON.stringify(
    keys.map((key) => key.export({ type: 'pkcs8', format: 'pem' })),
  )
  process.env.TEST_POSTGRES_ASK = `http://127.0.0.1:${addressServer.address().port}`
}

export async function end() {
  addressServer.close()
  await (await postgres)?.close()
}
