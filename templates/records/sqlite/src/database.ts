/** The database: `DATABASE_URL`, else a file. */
const { DATABASE_URL = '' } = process.env

export const database = DATABASE_URL === '' ? 'sqlite:./data/app.db' : DATABASE_URL
