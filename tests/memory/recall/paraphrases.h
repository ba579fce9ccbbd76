/*
 * paraphrases.h: forty facts, each with a question that has no content word of it, nor of the title of its note.
 */
#ifndef TESTS_MEMORY_RECALL_PARAPHRASES_H
#define TESTS_MEMORY_RECALL_PARAPHRASES_H

struct paraphrase {
    const char *fact, *question;
};

static const struct paraphrase paraphrases[] = {
    {"The physician prescribed pills against the migraine.",
     "Which medicine helps with headaches?"},
    {"Our landlord raises the rent in spring.", "Does the apartment get more expensive?"},
    {"Peter repaired the bicycle in the shed.", "Who fixed the bike?"},
    {"The lorry broke down near Lyon.", "What happened to the truck?"},
    {"Anna resigned from the bank last summer.", "Who quit her job?"},
    {"The puppy chewed up the sofa.", "What did the dog do to the couch?"},
    {"The soup was far too salty.", "How did the meal taste?"},
    {"She sketches portraits with charcoal.", "Who likes drawing?"},
    {"The kids build sandcastles at the shore.", "What do the children play on the beach?"},
    {"The lecture was postponed until autumn.", "Was the talk delayed?"},
    {"Rosa bakes bread every Saturday.", "Who cooks on weekends?"},
    {"The film made everybody weep.", "Which movie was sad and had people crying?"},
    {"The aircraft departs at dawn.", "How early does our plane fly off?"},
    {"The attorney charges three hundred an hour.", "What does the lawyer cost?"},
    {"The cellar was flooded after the storm.", "Is there water in the basement?"},
    {"The infant sleeps through since March.", "Is the baby awake at night?"},
    {"Grandpa grows pumpkins and leeks.", "Who has vegetables in the garden?"},
    {"The author signed copies of the novel.", "Where did the writer give autographs in books?"},
    {"The physicist won a prize in Stockholm.", "Which scientist received an award?"},
    {"My spouse sings in a choir.", "What music does my wife make?"},
    {"The laptop overheats when compiling.", "Why is the computer too hot?"},
    {"The clerk mislaid the invoice.", "Who lost the bill?"},
    {"He is terrified of spiders.", "Which insects is somebody afraid of?"},
    {"The shop shuts at eight in the evening.", "When does the store close?"},
    {"The teacher praised the essay.", "Did the professor like what the student wrote?"},
    {"The harbour is full of sailing boats.", "Which ships lie in the port?"},
    {"The surgeon operates on knees.", "Which doctor treats legs?"},
    {"Winters there are freezing, with lots of snow.", "Is the weather cold?"},
    {"The firm sacked forty employees.", "How many workers did the company fire?"},
    {"The purse was stolen in the subway.", "Where did a thief take her wallet?"},
    {"Her nephew studies chemistry in Leeds.",
     "Which university science did the son of the sister choose?"},
    {"The wedding took place in a chapel.", "Where did they marry, in a church?"},
    {"The mechanic replaced the brake pads.", "What was repaired in the car?"},
    {"Our supper was pizza.", "What did we eat for dinner?"},
    {"The couple adopted a kitten.", "Do they own a cat?"},
    {"Jogging is what he does before breakfast.", "Who goes running in the morning?"},
    {"The password must be altered every quarter.", "How often do we have to change the login?"},
    {"The roof leaks when it pours.", "Where does rain get into the house?"},
    {"The pupils presented a play by Brecht.", "Which theatre did the students perform?"},
    {"The parcel arrived two days late.", "Was the package delivered on time?"},
};

#endif
