/** The address of the database: `DATABASE_URL`, or a file. */
const { DATABASE_URL = '' } = process.env

export const database = DATABASE_URL === '' ? 'sqlite:./data/app.db' : DATABASE_URL
