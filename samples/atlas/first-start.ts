/** Fills an empty database when the atlas starts, in a single transaction. Later starts skip it. */
import { Database, hashPassword, type NewRow, type Transaction } from 'filigree'
import { toSearchable } from './city-search.js'
import { Gazetteer, type KnownCity } from './gazetteer.js'
import { LoadingReport } from './loading-report.js'
import { City, Country, User } from './records.js'

/** The first users who may log in. */
const firstUsers = [
  { name: 'ada', password: 'analytical', roles: ['admin'] },
  { name: 'grace', password: 'compiler', roles: [] },
]

export class FirstStart {
  static inject = [Database, Gazetteer, LoadingReport]
  readonly #database: Database
  readonly #gazetteer: Gazetteer
  readonly #report: LoadingReport

  constructor(database: Database, gazetteer: Gazetteer, report: LoadingReport) {
    this.#database = database
    this.#gazetteer = gazetteer
    this.#report = report
  }

  async onStart(): Promise<void> {
    if (await this.#isLoaded()) return
    try {
      await this.#load()
    } catch (error) {
      // Another process may have been faster on the same database.
      if (!(await this.#isLoaded())) throw error
    }
  }

  async #isLoaded(): Promise<boolean> {
    const [country] = await this.#database.records(Country).list({ limit: 1 })
    return country !== undefined
  }

  async #load(): Promise<void> {
    const users = await Promise.all(
      firstUsers.map(async ({ name, password, roles }) => {
        return { name, roles, passwordHash: await hashPassword(password) }
      }),
    )
    await this.#database.transaction(async (tx) => {
      await tx.records(Country).insertMany(numbered(this.#gazetteer.countries()))
      await tx.records(User).insertMany(numbered(users))
      await this.#loadCities(tx, this.#gazetteer.cities())
    })
  }

  async #loadCities(tx: Transaction, known: readonly KnownCity[]): Promise<void> {
    const countries = await tx.records(Country).list()
    const ids = new Map(countries.map(({ code, id }) => [code, id]))
    await tx.records(City).insertMany(toCities(known, ids), {
      onProgress: ({ done }) => {
        this.#report.show('Loading the cities', done, known.length)
      },
    })
  }
}

/**
 * With ids from 1 by their places. Ids are given, because interrupted and concurrent loads use up
 * numbers on PostgreSQL and must not change them.
 */
function* numbered<T extends object>(rows: Iterable<T>): Generator<T & { id: number }> {
  let id = 0
  for (const row of rows) yield { id: ++id, ...row }
}

function* toCities(
  known: readonly KnownCity[],
  countries: ReadonlyMap<string, number>,
): Generator<NewRow<City>> {
  for (const { id, name, lat, lng, country } of numbered(known)) {
    const countryId = countries.get(country)
    if (countryId === undefined) throw new Error(`${name} is in the unknown country ${country}.`)
    const searchable = toSearchable(name)
    yield { id, name, lat, lng, countryId, searchable }
  }
}
