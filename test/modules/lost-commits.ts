/** Writes with an `Idempotency-Key` whose commits are cut. Every request is retried until the client knows its result. */
import {
  bootstrap,
  Controller,
  Database,
  Field,
  Module,
  NoAuth,
  Post,
  Record,
  type Application,
} from 'filigree'
import { idempotent } from 'filigree/idempotent'
import { cuts, startCuttingProxy, type CuttingProxy } from '../records/cutting-proxy.js'
import { waitUntil } from '../wait-until.js'

@Record
@NoAuth
class Payment {
  @Field('id') id!: number
  @Field('string') reference!: string
}

class PaymentInput {
  @Field('string') reference!: string
}

@Controller('/payments', { crud: Payment })
class PaymentController {}

@NoAuth
@Controller('/ways')
class WayController {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Post('/transaction', { body: PaymentInput, transaction: true }) inTransaction(
    body: PaymentInput,
  ) {
    return this.database.records(Payment).create(valuesOf(body))
  }
  @Post('/single', { body: PaymentInput }) single(body: PaymentInput) {
    return this.database.records(Payment).create(valuesOf(body))
  }
  @Post('/query-builder', { body: PaymentInput }) async queryBuilder(body: PaymentInput) {
    const { kysely } = this.database
    const payments = kysely.withTables<{ payment: { reference: string } }>()
    await payments.insertInto('payment').values(valuesOf(body)).execute()
    return body
  }
}

function valuesOf({ reference }: PaymentInput): { reference: string } {
  return { reference }
}

@Module({
  controllers: [PaymentController, WayController],
  records: [Payment],
  imports: [idempotent()],
})
class PaymentModule {}

export const ways = ['/payments', '/ways/transaction', '/ways/single', '/ways/query-builder']

/** The counts of a run. */
export interface Outcome {
  /** Commits that were cut. */
  readonly cut: number
  /** Keys whose retry returned the first response, or reported that the first request had run. */
  readonly settledKeys: number
  readonly rowsWrittenTwice: number
  /** Keys with a success response but without a row. */
  readonly rowsMissing: number
}

export async function loseCommits(
  url: string,
  { keys, clients, cutEvery }: Readonly<Record<'keys' | 'clients' | 'cutEvery', number>>,
): Promise<Outcome> {
  const proxy: CuttingProxy = await startCuttingProxy(url)
  let commits = 0
  let cut = 0
  let app: Application | undefined
  try {
    app = await bootstrap(PaymentModule, {
      port: 0,
      logger: false,
      database: proxy.through(url),
    })
    proxy.decide = () => {
      if (++commits % cutEvery !== 0) return undefined
      return cuts[cut++ % cuts.length]
    }
    let next = 0
    let settledKeys = 0
    const work = async (): Promise<void> => {
      for (;;) {
        const key = next++
        if (key >= keys) return
        await payUntilKnown(app as Application, ways[key % ways.length] as string, `key-${key}`)
        settledKeys++
      }
    }
    await Promise.all(Array.from({ length: clients }, work))
    proxy.decide = undefined
    const rows = await app.get(Database).records(Payment).list()
    const counts = new Map<string, number>()
    for (const { reference } of rows) counts.set(reference, (counts.get(reference) ?? 0) + 1)
    return {
      cut,
      settledKeys,
      rowsWrittenTwice: [...counts.values()].filter((count) => count > 1).length,
      rowsMissing: keys - counts.size,
    }
  } finally {
    await app?.close()
    await proxy.close()
  }
}

/** Repeats the request until the response does not request a retry. */
async function payUntilKnown(app: Application, path: string, key: string): Promise<void> {
  await waitUntil(async () => {
    const response = await app.inject({
      method: 'POST',
      url: path,
      headers: { 'idempotency-key': key },
      json: { reference: key },
    })
    if (response.status < 300) return true
    if (response.body.includes('was done, but its response is not stored')) return true
    if (response.headers['retry-after'] === undefined)
      throw new Error(`${response.status} ${response.body}`)
    return false
  })
}
