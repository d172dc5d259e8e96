/** The peers' access to the database that `DATABASE_URL` names. */

export const isPostgres = process.env.DATABASE_URL.startsWith('postgres')

export async function openStore() {
  if (isPostgres) return (await import('./shop-postgres.mjs')).openPostgresStore()
  return (await import('./shop-sqlite.mjs')).openSqliteStore()
}
