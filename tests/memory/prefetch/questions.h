/*
 * questions.h: a memory of twelve notes, sixty questions that it answers and sixty that it does not.
 *
 * The second sixty are of the same subjects, and have words of the notes.
 */
#ifndef TESTS_MEMORY_PREFETCH_QUESTIONS_H
#define TESTS_MEMORY_PREFETCH_QUESTIONS_H

struct note_text {
    const char *key, *text;
};

static const struct note_text note_texts[] = {
    {"deploy.md",
     "# Deploying the shop\n\n"
     "Releases go to production on Tuesday mornings, after the smoke tests are green.\n\n"
     "A rollback is one command: `make rollback TAG=previous`. It takes about four minutes.\n\n"
     "The staging server runs on marlin and is rebuilt every night at two.\n\n"
     "Database migrations run before the containers restart, never afterwards.\n\n"
     "Nadia approves every release of the payment service.\n"},
    {"database.md", "# Database\n\n"
                    "We use Postgres 15; the cluster is called heron and has two replicas.\n\n"
                    "Backups are written to the vault in Lisbon, and deleted after ninety days.\n\n"
                    "The orders table is partitioned by month since January 2026.\n\n"
                    "Connection pooling is done with pgbouncer, limited to 80 connections.\n\n"
                    "Slow queries are logged when they take longer than 250 milliseconds.\n"},
    {"style.md", "# Code style\n\n"
                 "Indent with tabs in Go files and four spaces in Python.\n\n"
                 "Line length is limited to 100 characters.\n\n"
                 "Commit messages are written in English, in the imperative mood.\n\n"
                 "Public functions need a doc comment; private ones do not.\n\n"
                 "The linter is golangci-lint with the configuration of the platform team.\n"},
    {"family.md", "# Family\n\n"
                  "My daughter Mila was born on 14 March 2019 and goes to the Waldorf school.\n\n"
                  "My brother Jonas lives in Gothenburg and repairs violins.\n\n"
                  "Our dog is a beagle called Pepper.\n\n"
                  "My wife Irina is allergic to hazelnuts.\n\n"
                  "Grandmother turns ninety in August; the party is in Graz.\n"},
    {"travel.md", "# Travel\n\n"
                  "The flight to Tokyo leaves on 3 May from Munich, seat 24A.\n\n"
                  "I prefer aisle seats on trains and window seats on planes.\n\n"
                  "My passport expires in November 2028.\n\n"
                  "The hotel in Kyoto is the Sakura Inn near the river.\n\n"
                  "Travel insurance is with Allianda, policy 7714.\n"},
    {"health.md", "# Health\n\n"
                  "My dentist is Dr. Okafor in Linden Street.\n\n"
                  "I take magnesium in the evening, 300 mg.\n\n"
                  "The knee operation was in June 2024; running is fine again since.\n\n"
                  "My blood type is A negative.\n\n"
                  "I am lactose intolerant, but yoghurt is all right.\n"},
    {"house.md", "# House\n\n"
                 "The boiler is serviced every October by Brandt and Sons.\n\n"
                 "The wifi router stands in the hallway cupboard.\n\n"
                 "The spare key is with Mrs. Adeyemi on the second floor.\n\n"
                 "Rubbish is collected on Thursdays, paper every second week.\n\n"
                 "The kitchen walls are painted in the colour 'sea salt'.\n"},
    {"car.md", "# Car\n\n"
               "The winter tyres are stored at the garage in Mill Lane.\n\n"
               "The car needs 5W-30 oil.\n\n"
               "Its next inspection is due in September 2027.\n\n"
               "The parking permit costs 120 euros a year.\n\n"
               "The registration number is M KL 482.\n"},
    {"work.md", "# Work\n\n"
                "My manager is Pauline Mercier; we meet every second Wednesday.\n\n"
                "The quarterly report is due on the fifth of the month.\n\n"
                "The office in Porto closes at seven in the evening.\n\n"
                "Holidays are requested in the tool Timeleaf at least three weeks ahead.\n\n"
                "The mentor of the new interns is Tomasz.\n"},
    {"garden.md", "# Garden\n\n"
                  "The tomatoes are watered every morning from the rain barrel.\n\n"
                  "The apple tree is a Boskoop, planted in 2016.\n\n"
                  "Slugs are kept away with copper tape.\n\n"
                  "The roses are pruned in February.\n\n"
                  "The greenhouse door sticks when it is humid; lift it a little.\n"},
    {"api.md", "# API\n\n"
               "Tokens expire after fifteen minutes; refresh tokens after thirty days.\n\n"
               "The rate limit is 600 requests a minute for each customer.\n\n"
               "Errors are returned as problem+json, never as plain text.\n\n"
               "Webhooks are signed with HMAC and retried five times.\n\n"
               "The endpoint /v1/invoices is deprecated and goes away in 2027.\n"},
    {"music.md", "# Music\n\n"
                 "The cello lesson is on Monday at half past five with Mr. Lindqvist.\n\n"
                 "The choir sings the Requiem by Fauré in December.\n\n"
                 "New strings for the cello are bought at Kessler's.\n\n"
                 "The record player needs a new needle, model Ortofon Red.\n\n"
                 "The piano was last tuned in May 2025.\n"},
};

struct question_answer {
    const char *question, *answer;
};

static const struct question_answer answered[] = {
    {"When do releases go to production?", "Tuesday mornings"},
    {"How do I do a rollback?", "make rollback"},
    {"How long does a rollback take?", "four minutes"},
    {"Which machine does the staging server run on?", "marlin"},
    {"Do migrations run before or after the restart?", "never afterwards"},
    {"Who approves a release of the payment service?", "Nadia"},
    {"What is our Postgres cluster called?", "heron"},
    {"Where are the backups written?", "Lisbon"},
    {"When are old backups deleted?", "ninety days"},
    {"How is the orders table partitioned?", "by month"},
    {"What do we use for connection pooling?", "pgbouncer"},
    {"When is a slow query logged?", "250 milliseconds"},
    {"How do we indent Python?", "four spaces"},
    {"What is the maximum line length?", "100 characters"},
    {"In which language are commit messages written?", "in English"},
    {"Does a private function need a doc comment?", "private ones do not"},
    {"Which linter do we use?", "golangci-lint"},
    {"When was Mila born?", "14 March 2019"},
    {"Which school does my daughter go to?", "Waldorf"},
    {"Where does my brother live?", "Gothenburg"},
    {"What is our dog called?", "Pepper"},
    {"What is my wife allergic to?", "hazelnuts"},
    {"Where is grandmother's party?", "in Graz"},
    {"When does the flight to Tokyo leave?", "3 May"},
    {"Which seats do I prefer on planes?", "window seats"},
    {"When does my passport expire?", "November 2028"},
    {"Which hotel do we have in Kyoto?", "Sakura Inn"},
    {"Who is my travel insurance with?", "Allianda"},
    {"Who is my dentist?", "Okafor"},
    {"How much magnesium do I take?", "300 mg"},
    {"When was my knee operation?", "June 2024"},
    {"What is my blood type?", "A negative"},
    {"Am I lactose intolerant?", "yoghurt is all right"},
    {"Who services the boiler?", "Brandt and Sons"},
    {"Where is the wifi router?", "hallway cupboard"},
    {"Who has the spare key?", "Adeyemi"},
    {"On which day is the rubbish collected?", "Thursdays"},
    {"What colour are the kitchen walls?", "sea salt"},
    {"Where are the winter tyres stored?", "Mill Lane"},
    {"What oil does the car need?", "5W-30"},
    {"When is the next inspection of the car due?", "September 2027"},
    {"How much does the parking permit cost?", "120 euros"},
    {"What is the registration number of my car?", "M KL 482"},
    {"Who is my manager?", "Pauline Mercier"},
    {"When is the quarterly report due?", "fifth of the month"},
    {"When does the office in Porto close?", "at seven"},
    {"How do I request holidays?", "Timeleaf"},
    {"Who is the mentor of the interns?", "Tomasz"},
    {"How often are the tomatoes watered?", "every morning"},
    {"What kind of apple tree do we have?", "Boskoop"},
    {"What keeps the slugs away?", "copper tape"},
    {"When are the roses pruned?", "February"},
    {"After how many minutes do tokens expire?", "fifteen minutes"},
    {"What is the rate limit for a customer?", "600 requests"},
    {"How are errors returned by the API?", "problem+json"},
    {"How often are webhooks retried?", "five times"},
    {"When is the cello lesson?", "half past five"},
    {"What does the choir sing in December?", "Requiem"},
    {"Where do I buy strings for the cello?", "Kessler"},
    {"When was the piano tuned?", "May 2025"},
};

static const char *const unanswered[] = {
    "What is the hourly rate of the plumber?",
    "Who approves holidays of contractors?",
    "Which version of Kubernetes does the cluster run?",
    "How many replicas does the Redis cache have?",
    "What is the password of the wifi guest network?",
    "When is my sister's wedding?",
    "What is the name of my cat?",
    "Which phone do I have?",
    "Where did I study physics?",
    "What is my favourite film?",
    "Who won the chess tournament?",
    "What is the capital of Australia?",
    "How do I reverse a list in Haskell?",
    "Write a haiku about autumn leaves.",
    "Explain the difference between TCP and UDP.",
    "Fix the failing unit test in parser.rs.",
    "What is the status of ticket 4711?",
    "Which optician made my glasses?",
    "What did the lawyer say about the contract?",
    "When does the bakery open on Sundays?",
    "How tall is my son?",
    "What is the name of my daughter's best friend?",
    "Which wine goes with the salmon?",
    "When does the train to Vienna leave?",
    "Which airline flies to Reykjavik?",
    "What is the frequent flyer number of my husband?",
    "How much was the hotel in Madrid?",
    "Who is my cardiologist?",
    "When was my last tetanus vaccination?",
    "What is my cholesterol level?",
    "Which pharmacy is open at night?",
    "When was the roof repaired?",
    "Who is the landlord?",
    "How high is the electricity bill?",
    "What brand is the dishwasher?",
    "How many kilometres has the motorbike?",
    "What is the tyre pressure of the bicycle?",
    "Which garage replaced the brakes?",
    "What is my salary?",
    "Who leads the marketing department?",
    "When is the Christmas party?",
    "Which projector is in the conference room?",
    "What fertiliser do the hydrangeas need?",
    "Where did we buy the lawn mower?",
    "How deep is the pond?",
    "Which OAuth scopes does the mobile app need?",
    "What is the GraphQL schema of the catalogue?",
    "How are log files rotated on the edge nodes?",
    "Which message broker do we use?",
    "What is the timeout of the load balancer?",
    "Who wrote the billing module?",
    "Which guitar amplifier do I own?",
    "When is the next concert of the orchestra?",
    "Who teaches the ballet class?",
    "What is the key of the Moonlight sonata?",
    "Please refactor the login form to use hooks.",
    "Summarise this article in three sentences.",
    "Translate the following paragraph into Polish.",
    "How many calories are in an avocado?",
    "Thanks, that looks good. Continue.",
};

#endif
