/** The database: PostgreSQL at `DATABASE_URL`, or in development PostgreSQL in this process. */
import { pglite } from 'filigree'

const { DATABASE_URL = '', NODE_ENV } = process.env

if (DATABASE_URL === '' && NODE_ENV === 'production')
  throw new Error('DATABASE_URL is not set: postgres://user:password@host/name.')

export const database = DATABASE_URL === '' ? pglite({ folder: './data/postgres' }) : DATABASE_URL
