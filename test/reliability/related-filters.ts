/**
 * Compares filters through two relations with a handwritten join, alternating in one run on the same rows, for a user with no, few
 * and many matches: `npm run related-filters`. `--engine sqlite` selects one engine. It prints the time of `list`, of its statement alone,
 * and of the join. It exits with 1 if the statement takes more than three times as long as the join.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { BelongsTo, Field, HasMany, Record, type Rel } from 'filigree'
import { CompiledQuery } from 'kysely'
import { connect, type Database } from '../../src/index.js'
import { startOwnPostgres } from '../records/postgres-server.js'
import { runSql } from '../records/run-sql.js'

@Record({ table: 'reader' })
class Reader {
  @Field('id') id!: number
  @Field('string', { unique: true }) username!: string
  @HasMany(() => Favorite) favorites!: Rel<Favorite[]>
}

@Record({ table: 'article' })
class Article {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('datetime', { index: true }) createdAt!: string
  @HasMany(() => Favorite) favorites!: Rel<Favorite[]>
}

@Record({ table: 'favorite' })
class Favorite {
  @Field('id') id!: number
  @Field('integer') articleId!: number
  @BelongsTo(() => Article) article!: Rel<Article>
  @Field('integer') readerId!: number
  @BelongsTo(() => Reader) reader!: Rel<Reader>
}

const { values: options } = parseArgs({
  options: { engine: { type: 'string' }, rounds: { type: 'string', default: '9' } },
})
const repetitions = Number(options.rounds)
/** 50,000 articles, 500,000 favorites: `reader1` has one in a thousand, `everything` has each article, `no-favorites` has none. */
const numbers = (to: number): string =>
  `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${to})`
const timestampSql = {
  sqlite: `strftime('%Y-%m-%dT%H:%M:%fZ', 1700000000 + (i * 7919 % 50000) * 60, 'unixepoch')`,
  postgres: `to_timestamp(1700000000 + (cast(i as bigint) * 7919 % 50000) * 60)`,
}
const fill = (engine: 'sqlite' | 'postgres'): string => `
insert into reader (username) ${numbers(1000)} select 'reader' || i from n;
insert into reader (username) values ('no-favorites'), ('everything'), ('five');
insert into article (title, created_at) ${numbers(50_000)} select 'Article ' || i, ${timestampSql[engine]} from n;
insert into favorite (article_id, reader_id) ${numbers(450_000)} select 1 + i % 50000, 1 + i * 31 % 1000 from n;
insert into favorite (article_id, reader_id) select id, 1002 from article;
insert into favorite (article_id, reader_id) select id, 1003 from article where id % 10000 = 5;
analyze;
`

const cases = ['no-favorites', 'five', 'reader1', 'everything'] as const

async function measure(engine: 'sqlite' | 'postgres', database: Database): Promise<boolean> {
  await database.sync()
  await runSql(database, fill(engine))
  const filtered = (username: string): Promise<unknown[]> =>
    database.records(Article).list({
      where: { favorites: { reader: { username } } },
      orderBy: [{ createdAt: 'desc' }],
      limit: 20,
    })
  const mark = engine === 'sqlite' ? '?' : '$1'
  const join = `select a.* from article a
    join favorite f on f.article_id = a.id join reader r on r.id = f.reader_id
    where r.username = ${mark} order by a.created_at desc limit 20`
  const run = async (text: string, values: readonly unknown[]): Promise<void> => {
    await database.kysely.executeQuery(CompiledQuery.raw(text, [...values]))
  }
  const statement = await statementOf(() => filtered('no-favorites'))
  let isGood = true
  for (const username of cases) {
    const ways: readonly (readonly [name: string, run: () => Promise<unknown>])[] = [
      ['list', () => filtered(username)],
      ['statement', () => run(statement, [username, 20])],
      ['join', () => run(join, [username])],
    ]
    const times = new Map<string, number[]>(ways.map(([name]) => [name, []]))
    for (let repetition = 0; repetition < repetitions + 2; repetition++)
      for (const [name, work] of ways) {
        const startedAt = performance.now()
        await work()
        if (repetition >= 2) times.get(name)?.push(performance.now() - startedAt)
      }
    const [list = 0, statementTime = 0, joinTime = 0] = [...times.values()].map(median)
    const isSlow = statementTime > 3 * joinTime
    if (isSlow) isGood = false
    const texts = [list, statementTime, joinTime].map((ms) => `${ms.toFixed(2)} ms`)
    console.log(
      `${engine.padEnd(9)} ${username.padEnd(11)} list ${texts[0]}, statement ${texts[1]}, join ${texts[2]}: ${(statementTime / joinTime).toFixed(1)} times${isSlow ? ', too slow' : ''}`,
    )
  }
  return isGood
}

async function statementOf(work: () => Promise<unknown>): Promise<string> {
  let found = ''
  const recordSql = (message: unknown): void => {
    const { sql } = message as { sql: string }
    if (sql.includes('"favorite"')) found = sql
  }
  subscribe('filigree:statement', recordSql)
  await work()
  unsubscribe('filigree:statement', recordSql)
  return found
}

function median(times: readonly number[]): number {
  return [...times].sort((one, other) => one - other)[Math.floor(times.length / 2)] ?? NaN
}

const records = [Reader, Article, Favorite]
let isGood = true
if (options.engine !== 'postgres') {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-related-'))
  const database = await connect(`sqlite:${join(folder, 'related.db')}`, { records })
  isGood = (await measure('sqlite', database)) && isGood
  await database.close()
  await rm(folder, { recursive: true })
}
if (options.engine !== 'sqlite') {
  const server = await startOwnPostgres()
  const url = new URL(await server.createDatabase())
  url.searchParams.set('statement_timeout', '0')
  const database = await connect(url.href, { records })
  isGood = (await measure('postgres', database)) && isGood
  await database.close()
  await server.close()
}
process.exit(isGood ? 0 : 1)
